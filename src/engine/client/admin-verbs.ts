// Cancels, terminates, suspends and resumes instances, whichever runtime owns them. Ending an instance
// that has already ended does nothing.

import { describe } from '../../base/describe.ts'
import { BatchSplitter } from '../../base/sync/batch-splitter.ts'
import { MAX_REASON, shorten } from '../../base/shorten.ts'
import { writeEvents } from '../../store/history.ts'
import type { Post } from '../../store/inbox.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import { rowKeys } from '../core/log-keys.ts'
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
  await terminateRows(core, [await core.existing('terminate', id)], reason)
}

/** Ends those of the instances that have not ended, at once; returns how many. */
export async function terminateRows(
  core: ClientCore,
  rows: readonly InstanceRow[],
  reason: string,
  level: 'info' | 'warn' = 'warn',
): Promise<number> {
  const { store, values, log, runtime, meter } = core.setup
  const unfinished = rows.filter((row) => !hasEnded(row))
  let count = 0
  await inParts(core, unfinished, async (part, send) => {
    const terminations = part.map(({ id, workflow }) => ({
      id,
      output: values.encodeError(terminatedError(id, workflow.name, reason)),
      events: writeEvents([{ type: 'ended', status: 'terminated' }]),
    }))
    const { ended, mail, hadTasks, woken } = await send(() => store.terminate(terminations))
    for (const row of part.filter((_, i) => ended[i] === true)) {
      log[level]({ ...rowKeys(row), reason }, 'workflow terminated')
      meter?.terminated(row.workflow.name)
      count++
    }
    core.recalled(part.map(({ iid }) => iid))
    if (mail.length > 0) {
      if (runtime === undefined) core.announce({ kind: 'mail', iids: mail })
      else runtime.hint(mail.map((related) => ({ iid: related, owner: null })))
    }
    if (hadTasks) core.announce({ kind: 'freed' })
    if (woken.length > 0) core.announce({ kind: 'due', iids: woken })
  })
  // Others may have waited for their places under limits of workflows.
  if (count > 0) runtime?.claimNow()
  return count
}

/** Suspends an instance until it is resumed. */
export async function suspend(core: ClientCore, id: string, given: unknown): Promise<void> {
  const reason = checkReason('suspend', given)
  await suspendRows(core, [await core.existing('suspend', id)], reason)
}

/** Suspends those of the instances that have not ended; returns how many. */
export async function suspendRows(
  core: ClientCore,
  rows: readonly InstanceRow[],
  reason: string,
): Promise<number> {
  const { store, values, log } = core.setup
  const message = reason === '' ? 'suspended' : `suspended: ${reason}`
  const report = values.encodeError(new Error(message))
  let count = 0
  await inParts(core, rows, async (part, send) => {
    const ids = part.map(({ id }) => id)
    const done = await send(() => store.suspend(ids, report))
    const suspended = part.filter((_, i) => done[i] === true)
    for (const row of suspended) log.info({ ...rowKeys(row), reason }, 'instance suspended')
    count += suspended.length
    core.recalled(suspended.map(({ iid }) => iid))
  })
  if (count > 0) core.setup.runtime?.claimNow()
  return count
}

/** Lets a suspended instance continue. */
export async function resume(core: ClientCore, id: string): Promise<void> {
  const row = await core.existing('resume', id)
  if (hasEnded(row)) throw cannotResume(row)
  await resumeRows(core, [row])
}

/** Lets those of the instances continue that are suspended; returns how many. */
export async function resumeRows(core: ClientCore, rows: readonly InstanceRow[]): Promise<number> {
  const { store, runtime } = core.setup
  let count = 0
  await inParts(core, rows, async (part, send) => {
    const iids = part.map(({ iid }) => iid)
    const ids = part.map(({ id }) => id)
    const resumed = await send(() => store.resume(ids))
    count += resumed
    if (resumed > 0) core.changed(iids)
    runtime?.claimNow()
    core.announce({ kind: 'due', iids })
  })
  return count
}

/** Sends something to the store, and again when it could not answer. */
type Send = <T>(call: () => Promise<T>) => Promise<T>

/**
 * Does something with instances, all at once if possible. Where another transaction has locked one of
 * them, that one is waited for alone, after its neighbours.
 */
async function inParts(
  { setup: { clock } }: ClientCore,
  rows: readonly InstanceRow[],
  work: (part: readonly InstanceRow[], send: Send) => Promise<void>,
): Promise<void> {
  if (rows.length === 0) return
  const parts = new BatchSplitter(rows)
  const locked: InstanceRow[] = []
  for (const part of parts) {
    try {
      await work(part, (call) => resend(clock, call, ({ code }) => code !== 'locked'))
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'locked') throw error
      if (!parts.split(part)) locked.push(...part)
    }
  }
  for (const row of locked) await work([row], (call) => resend(clock, call))
}

/** The keys of log lines about an instance. */
function cannotResume({ id, status }: InstanceRow): ConflictError {
  return new ConflictError(
    `resume: instance "${id}" has ended (${status}) and cannot continue; instance.fork({ at }) creates ` +
      `a new one with its history, and start(…, { onConflict: 'restart' }) starts it anew`,
    id,
  )
}

/** Checks a reason, and shortens a long one. */
export function checkReason(verb: string, reason: unknown = ''): string {
  if (typeof reason === 'string') return shorten(reason, MAX_REASON)
  throw new TypeError(`${verb}: reason must be a string, got ${describe(reason)}`)
}
