import type { Next, StartItem, TurnItem, TurnRow, Verdict } from './commits.ts'
import { MAX_UNSTARTED_MESSAGES } from './constants.ts'
import type { Post, PostVerdict } from './inbox.ts'
import type { EndStatus, Ending } from './instances.ts'
import type { TaskResult } from './tasks.ts'

// How a store judges what is sent to it, given what it finds: functions without effects. SQLite
// calls them. PostgreSQL's procedures judge whole batches in SQL; test/contract/verdicts.test.ts
// compares their verdicts with these.

/** An unfinished instance, as far as its owner is concerned. */
export interface OwnedRun {
  readonly owner: number | null
  readonly epoch: number
  readonly isSuspended: boolean
}

/** Whether a runtime may write about an instance: it owns it at this epoch. */
export function isOwner(run: OwnedRun | undefined, runtime: number, epoch: number): boolean {
  return run !== undefined && run.owner === runtime && run.epoch === epoch && !run.isSuspended
}

/** What a store finds if it cannot apply what an owner sent. */
export interface TurnFindings {
  /** `undefined` when the instance has ended. */
  readonly run: OwnedRun | undefined
  /** The epoch that wrote the turn in this place of the history, if there is one. */
  writerOf(turn: TurnRow): number | undefined
  /** How the instance ended, if it has. */
  ending(): Ending | undefined
}

/**
 * The verdict on a turn that is not applied, because its sender is not the owner or there is a turn
 * in its place. It is done if this very item was committed before, and only the answer was lost.
 */
export function verdictOnUnapplied(item: TurnItem, findings: TurnFindings): Verdict {
  const wasDone =
    item.turn === null
      ? isAsAfter(item.epoch, item.next, findings)
      : findings.writerOf(item.turn) === item.epoch
  return wasDone ? 'done' : 'refused'
}

// No row of the history shows it. But an epoch has one owner, which is alive here, and any other
// process that takes away what it owns raises the epoch.
function isAsAfter(epoch: number, next: Next, found: TurnFindings): boolean {
  const { run } = found
  switch (next.kind) {
    case 'keep':
      return false
    case 'release':
    case 'suspend':
      return (
        run !== undefined &&
        run.epoch === epoch &&
        run.owner === null &&
        run.isSuspended === (next.kind === 'suspend')
      )
    case 'end': {
      // The epoch is gone with the run.
      if (run !== undefined) return false
      const ended = found.ending()
      return ended?.status === next.end.status && ended.output === next.end.output
    }
    case 'continue':
      return found.writerOf(next.started) === epoch
  }
}

/** An instance that has the number or the id of a start. */
export interface KnownInstance {
  readonly iid: number
  readonly id: string
  readonly isStarted: boolean
}

/**
 * The verdict on a start that is not applied, because its number or its id is taken, or its sender
 * does not own the parent.
 *
 * If the same number was started before, this is the same start, sent again. If it was to be owned
 * and its sender has lost it since, the sender must not continue with it.
 */
export function verdictOnUnappliedStart(
  { iid, id, owned, end }: StartItem,
  byNumber: KnownInstance | undefined,
  byId: KnownInstance | undefined,
  isFirstOwner: () => boolean,
): Verdict {
  if (byNumber !== undefined) {
    if (byNumber.id !== id || !byNumber.isStarted) return 'refused'
    return !owned || end !== null || isFirstOwner() ? 'done' : 'refused'
  }
  if (byId === undefined || byId.iid === iid) return 'refused'
  return byId.isStarted ? 'exists' : 'unstarted'
}

/** What a store finds if something is sent to an instance. */
export interface PostFindings {
  readonly status: 'unstarted' | 'running' | EndStatus
  /** Whether something with this key was sent to it before. */
  wasPosted(key: string): boolean
  /** How many of the same kind and channel wait, counted up to `limit`. */
  waiting(limit: number): number
  /** How many messages wait for its start, if it was never started. */
  readonly unstarted: number
  /** Whether `MAX_UNSTARTED_IN_ALL` messages wait for instances that were never started. */
  isUnstartedFull(): boolean
}

/** The verdict on something that is sent to an instance, whether or not that exists. */
export function verdictOnPost(post: Post, found: PostFindings): PostVerdict {
  const { kind, dedupeKey, capacity } = post
  if (kind !== 'message' && found.status === 'unstarted') return 'unknown'
  // Before the check for the end: a repeated message is a duplicate even if its instance has ended.
  if (dedupeKey !== '' && found.wasPosted(dedupeKey)) return 'duplicate'
  if (found.status !== 'running' && found.status !== 'unstarted') return 'ended'
  if (kind !== 'message') return found.waiting(1) > 0 ? 'duplicate' : 'sent'
  if (capacity !== null && found.waiting(capacity) >= capacity) return 'full'
  if (found.status === 'running') return 'sent'
  return found.unstarted >= MAX_UNSTARTED_MESSAGES || found.isUnstartedFull() ? 'full' : 'sent'
}

/** A task, as far as its owner is concerned. */
export interface OwnedTask {
  readonly owner: number | null
  /** Attempts that were started. */
  readonly attempts: number
  readonly token: number | null
}

/**
 * Whether this attempt of a task runs now, at this runtime. Without a token, it may be any task.
 */
export function isAttempt(
  task: OwnedTask | undefined,
  runtime: number,
  { attempt, token }: { readonly attempt: number; readonly token: number | null },
): boolean {
  if (task === undefined || (token !== null && token !== task.token)) return false
  return task.owner === runtime && task.attempts === attempt
}

/**
 * Whether a store accepts the result of an attempt. A completion is accepted from any runtime that
 * names the token of the task: running it again would not undo what was done. Anything else is
 * accepted only from the attempt that runs now, at a live runtime.
 */
export function takesResult(
  task: OwnedTask | undefined,
  runtime: { readonly runtime: number; readonly isAlive: boolean },
  result: Pick<TaskResult, 'attempt' | 'token' | 'end'>,
): boolean {
  if (task === undefined) return false
  if (result.end.kind === 'completed') return task.token === result.token
  return runtime.isAlive && isAttempt(task, runtime.runtime, result)
}
