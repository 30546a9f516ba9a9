import type { ResolvedBackoff } from '../base/time/backoff.ts'
import { backoffMs } from '../base/time/backoff.ts'
import type {
  DeadMessage,
  DeferredMessage,
  Settlement,
  StepAnswer,
  StoredMessage,
  WaitingOutcome,
} from '../store/outbox-store.ts'
import { type Outcome, reasonOf, UNTRIED } from './outcome.ts'

// From what became of single messages to what is written about their partition. Pure.
//
//   - The cursor passes the messages at the beginning that need nothing more. Those behind a message that
//     is tried again are remembered as done, one by one.
//   - The partition waits for its first message that is tried again, unless others may pass it.
//   - One behind it that is tried again later than it keeps a time of its own: batches end before it until then.

/** What was read of a partition. */
export type ReadPartition = Extract<StepAnswer, { readonly state: 'ok' }>

/** When a message is tried again, and when no more. */
export interface RetryPolicy {
  readonly maxAttempts: number
  /** What happens to a message that keeps failing: see `HandleOptions.whenStuck`. */
  readonly whenStuck: 'block' | 'park' | 'skip'
  readonly backoff: ResolvedBackoff
  readonly random: () => number
}

/** A settlement, and what it means for the log and for the size of batches. */
export interface Settled {
  readonly settlement: Settlement
  readonly delivered: number
  readonly expired: number
  readonly retries: readonly Retry[]
  readonly dead: readonly DeadMessage[]
}

/** A message that is tried again. */
export interface Retry {
  readonly message: StoredMessage
  readonly failures: number
  /** Until it can be tried again: when those before it can, too. */
  readonly delayMs: number
  readonly error: unknown
}

/** Decides what to write after a batch; `outcomes` are by position. */
export function settle(
  read: ReadPartition,
  outcomes: ReadonlyMap<number, Outcome>,
  policy: RetryPolicy,
  now: number,
): Settled {
  const dead: DeadMessage[] = []
  const deferred: DeferredMessage[] = []
  const waiting: WaitingOutcome[] = []
  const retries: Writable<Retry>[] = []
  const failures = new Map(read.failures)
  const later = new Map(read.later)
  let delivered = 0
  let expired = 0
  /** When the first message that blocks the partition is tried again. */
  let dueAt: number | null = null
  /** When all messages so far that block the partition can be tried again. */
  let latest = now
  const blocking = new Set<number>()
  // Drawn once: what failed together, as often, is tried again together.
  let drawn: number | undefined
  const random = (): number => (drawn ??= policy.random())

  /** What follows from an attempt; `undefined` when the message needs nothing more. */
  const attempt = (message: StoredMessage): Again | undefined => {
    const { position, seq } = message
    const outcome = outcomes.get(position) ?? UNTRIED
    const failed = message.failures + 1
    const bury = (reason: string, attempts = failed): undefined => {
      dead.push({ position, seq, reason, failures: attempts })
    }
    switch (outcome.kind) {
      case 'done':
        delivered++
        return undefined
      case 'expired':
        expired++
        return undefined
      case 'reject':
        return bury(outcome.reason)
      case 'exhausted':
        return bury(outcome.reason, message.failures)
      case 'untried':
        return { again: now, failures: message.failures }
      case 'retry': {
        const isLast = policy.whenStuck === 'park' && failed >= policy.maxAttempts
        if (isLast && outcome.isShared !== true) return bury(reasonOf(outcome.error))
        const delayMs = outcome.afterMs ?? Math.ceil(backoffMs(policy.backoff, failed, random))
        // The last attempt is one that the message has for itself: batches become smaller until it does.
        const counted = isLast ? message.failures : failed
        const retry = { message, failures: counted, delayMs, error: outcome.error }
        retries.push(retry)
        return { again: now + delayMs, failures: counted, retry }
      }
    }
  }

  const heldBack = new Set(read.waitingKeys)
  /** Of messages that were not tried: later ones with the same key must not leave before them. */
  const untriedKeys = new Set<string | null>()
  for (const message of read.messages) {
    const { position, seq, key } = message
    if (key !== null && heldBack.has(key) && !outcomes.has(position)) {
      deferred.push({ position, seq, failures: message.failures, dueAt: now })
      continue
    }
    const next = attempt(message)
    failures.delete(position)
    later.delete(position)
    if (next === undefined) continue
    const isFailed = next.failures > message.failures
    if (policy.whenStuck === 'skip' && isFailed && !untriedKeys.has(key)) {
      deferred.push({ position, seq, failures: next.failures, dueAt: next.again })
      if (key !== null) heldBack.add(key)
      continue
    }
    if (key !== null) untriedKeys.add(key)
    if (next.failures > 0) failures.set(position, next.failures)
    if (next.again > latest) {
      latest = next.again
      if (blocking.size === 0) dueAt = latest
      // With `skip` it would keep back messages with other keys.
      else if (policy.whenStuck !== 'skip') later.set(position, latest)
    }
    if (next.retry !== undefined && policy.whenStuck !== 'skip') next.retry.delayMs = latest - now
    blocking.add(position)
  }
  for (const message of read.due) {
    const { position } = message
    const next = attempt(message)
    if (next !== undefined) {
      waiting.push({ position, retry: { failures: next.failures, dueAt: next.again } })
    } else if (!dead.some((letter) => letter.position === position)) {
      waiting.push({ position, retry: null })
    }
  }

  const { to, passed, done } = advance(read, blocking)
  for (const known of [failures, later]) {
    for (const position of known.keys()) if (position <= to) known.delete(position)
  }
  return {
    settlement: {
      cursor: read.cursor,
      to,
      passed,
      done,
      failures,
      later,
      dueAt,
      dead,
      deferred,
      waiting,
    },
    delivered,
    expired,
    retries,
    dead,
  }
}

/** When a message is tried again, and after how many failures; with `retry` if this attempt was one. */
interface Again {
  readonly again: number
  readonly failures: number
  readonly retry?: Writable<Retry>
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** How far the cursor goes, and what is done behind it. */
function advance(
  { cursor, done, messages }: ReadPartition,
  blocking: ReadonlySet<number>,
): Pick<Settlement, 'to' | 'passed' | 'done'> {
  const last = messages.at(-1)?.position ?? cursor
  // What was done before and lies beyond what was read stays as it is.
  const known = [...messages.map(({ position }) => position), ...done.filter((p) => p < last)]
  known.sort((a, b) => a - b)
  const stop = known.findIndex((position) => blocking.has(position))
  const passed = stop === -1 ? known.length : stop
  return {
    to: passed === 0 ? cursor : known[passed - 1]!,
    passed,
    done: [
      ...known.slice(passed).filter((position) => !blocking.has(position)),
      ...done.filter((position) => position > last),
    ],
  }
}
