// Cancels, terminates, suspends and resumes many instances, a page at a time. Each page is a call of its
// own, so that a call that was cut off has done the pages before, and can be repeated.

import type { StartedStatus } from '../../store/admin-store.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { Which } from '../define/admin.ts'
import { resend } from '../core/resend.ts'
import { cancelPost, checkReason, resumeRows, suspendRows, terminateRows } from './admin-verbs.ts'
import type { ClientCore } from './client-core.ts'
import { among, isQuery, UNFINISHED, whichOf } from './filters.ts'
import { BULK, pagesOf } from './listing.ts'

/** Requests the cancellation of instances; returns how many had not ended. */
export async function cancelAll(core: ClientCore, which: Which, given: unknown): Promise<number> {
  const reason = checkReason('cancel', given)
  return overAll(core, 'cancel', which, UNFINISHED, async (rows) => {
    const posts = rows.map(({ id }) =>
      core.posts.post(id, () => Promise.resolve(cancelPost(id, reason))),
    )
    const answers = await Promise.all(posts)
    return answers.filter(({ verdict }) => verdict === 'sent' || verdict === 'duplicate').length
  })
}

/** Ends instances at once; returns how many had not ended. */
export async function terminateAll(
  core: ClientCore,
  which: Which,
  given: unknown,
): Promise<number> {
  const reason = checkReason('terminate', given)
  let count = 0
  try {
    return await overAll(core, 'terminate', which, UNFINISHED, async (rows) => {
      const ended = await terminateRows(core, rows, reason, 'info')
      count += ended
      return ended
    })
  } finally {
    // Once, also for the pages before an error.
    if (count > 0) core.setup.log.warn({ count, reason }, 'instances terminated')
  }
}

/** Suspends instances; returns how many had not ended. */
export async function suspendAll(core: ClientCore, which: Which, given: unknown): Promise<number> {
  const reason = checkReason('suspend', given)
  return overAll(core, 'suspend', which, UNFINISHED, (rows) => suspendRows(core, rows, reason))
}

/** Lets suspended instances continue; returns how many were suspended. */
export async function resumeAll(core: ClientCore, which: Which): Promise<number> {
  return overAll(core, 'resume', which, ['suspended'], (rows) => resumeRows(core, rows))
}

async function overAll(
  core: ClientCore,
  verb: string,
  which: Which,
  statuses: readonly StartedStatus[],
  work: (rows: readonly InstanceRow[]) => Promise<number>,
): Promise<number> {
  let count = 0
  for await (const rows of rowsOf(core, verb, which, statuses)) count += await work(rows)
  return count
}

/** The instances that are meant and have one of these states, some at a time. */
export async function* rowsOf(
  core: ClientCore,
  verb: string,
  which: Which,
  statuses: readonly StartedStatus[],
): AsyncGenerator<readonly InstanceRow[], void, undefined> {
  const meant = whichOf(`admin.${verb}`, which)
  if (isQuery(meant)) {
    yield* pagesOf(core, among(meant, statuses))
    return
  }
  await core.open()
  const { store, clock } = core.setup
  for (let i = 0; i < meant.length; i += BULK) {
    const ids = meant.slice(i, i + BULK)
    const found = await resend(clock, () => store.find(ids))
    const rows = found.filter((row) => row !== undefined)
    const fitting = rows.filter(({ status }) => statuses.some((wanted) => wanted === status))
    if (fitting.length > 0) yield fitting
  }
}
