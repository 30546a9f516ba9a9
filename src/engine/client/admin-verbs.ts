// Cancels, terminates, suspends and resumes instances, whichever runtime owns them. Ending an instance
// that has already ended does nothing.

import { describe } from '../../base/describe.ts'
import { MAX_REASON, shorten } from '../../base/shorten.ts'
import { writeEvents } from '../../store/history.ts'
import type { Post } from '../../store/inbox.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { InstanceKeys } from '../core/log-keys.ts'
import { ConflictError, terminatedError } from '../core/errors.ts'
import { type ClientCore, hasEnded, noInstance } from './client-core.ts'
import { resend } from '../core/resend.ts'

/** Requests the cancellation of an instance, which may clean up first. */
export async function cancel(core: ClientCore, id: string, given: unknown): Promise<void> {
  const request = cancelPost(id, given)
  const { verdict } = await core.posts.post(id, async () => {
    await core.open()
    return request
  })
  if (verdict === 'unknown') throw noInstance('cancel', id)
}

/** The request to cancel, as the store takes it. */
export function cancelPost(id: string, reason: unknown): Post {
  return {
    id,
    kind: 'cancel',
    name: '',
    payload: JSON.stringify(checkReason('cancel', reason)),
    replyTo: '',
    dedupeKey: '',
    capacity: null,
    iid: 0,
  }
}

/** Ends an instance at once. */
export async function terminate(core: ClientCore, id: string, given: unknown): Promise<void> {
  const reason = checkReason('terminate', given)
  await terminateRow(core, await core.existing('terminate', id), reason)
}

/** Ends an instance at once, if it has not ended. */
export async function terminateRow(
  core: ClientCore,
  row: InstanceRow,
  reason: string,
  level: 'info' | 'warn' = 'warn',
): Promise<void> {
  if (hasEnded(row)) return
  const { store, values, clock, log, runtime } = core.setup
  const { iid, id, workflow } = row
  const termination = {
    id,
    output: values.encodeError(terminatedError(id, workflow.name, reason)),
    events: writeEvents([{ type: 'ended', status: 'terminated' }]),
  }
  const { ended, mail, hadTasks } = await resend(clock, () => store.terminate([termination]))
  if (ended[0] === true) log[level]({ ...keysOf(row), reason }, 'workflow terminated')
  runtime?.recall([iid])
  core.changed(iid)
  if (mail.length > 0) {
    if (runtime === undefined) core.tell({ kind: 'mail', iids: mail })
    else runtime.hint(mail.map((related) => ({ iid: related, owner: null })))
  }
  if (hadTasks) core.tell({ kind: 'freed' })
}

/** Suspends an instance until it is resumed. */
export async function suspend(core: ClientCore, id: string, given: unknown): Promise<void> {
  const { store, values, clock, log, runtime } = core.setup
  const reason = checkReason('suspend', given)
  const row = await core.existing('suspend', id)
  const { iid } = row
  const message = reason === '' ? 'suspended' : `suspended: ${reason}`
  const report = values.encodeError(new Error(message))
  const [done] = await resend(clock, () => store.suspend([id], report))
  if (done !== true) return
  log.info({ ...keysOf(row), reason }, 'instance suspended')
  runtime?.recall([iid])
  core.changed(iid)
}

/** Lets a suspended instance continue. */
export async function resume(core: ClientCore, id: string): Promise<void> {
  const { store, clock, runtime } = core.setup
  const row = await core.existing('resume', id)
  if (hasEnded(row)) throw cannotResume(row)
  const { iid } = row
  if ((await resend(clock, () => store.resume([id]))) > 0) core.changed(iid)
  runtime?.claimNow()
  core.tell({ kind: 'due', iids: [iid] })
}

/** The keys of log lines about an instance. */
function keysOf({ id, workflow, execution }: InstanceRow): InstanceKeys {
  return { instanceId: id, workflow: workflow.name, execution }
}

function cannotResume({ id, status }: InstanceRow): ConflictError {
  return new ConflictError(
    `resume: instance "${id}" has ended (${status}) and cannot continue; instance.fork({ at }) creates ` +
      `a new one with its history, and start(…, { onConflict: 'restart' }) starts it anew`,
    id,
  )
}

function checkReason(verb: string, reason: unknown = ''): string {
  if (typeof reason === 'string') return shorten(reason, MAX_REASON)
  throw new TypeError(`${verb}: reason must be a string, got ${describe(reason)}`)
}
