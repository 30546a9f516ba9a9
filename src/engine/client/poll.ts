// Polls the store for something another process does, and wakes up early on notifications.

import type { Clock } from '../../base/time/clock.ts'
import type { PermitNotify } from '../../base/sync/notify.ts'
import { type Abortable, onAbort } from '../../base/sync/on-abort.ts'
import { having, option } from '../../base/options.ts'
import { duration } from '../../base/time/duration.ts'
import { StoreError } from '../../store/store-error.ts'
import { WakeWait } from '../../workers/wake-wait.ts'

/** The table of `Wait`, for `resolveOptions`. */
export const WAIT_OPTIONS = {
  timeout: duration(undefined),
  signal: option(having<AbortSignal>('an AbortSignal', ['addEventListener']), undefined),
}

/** `Wait`, validated. */
export interface ResolvedWait {
  readonly timeout: number | undefined
  readonly signal: AbortSignal | undefined
}

// The first poll comes soon, later ones at growing intervals.
const MIN_POLL_MS = 10
const MAX_POLL_MS = 1_000
// While hints arrive, polls only make up for lost ones.
const MIN_HINTED_POLL_MS = 1_000
const MAX_HINTED_POLL_MS = 10_000
// Polls that are at least this far apart are aligned.
const STEP_FROM_MS = 1_000
const STEP_MS = 1_000

/** What to poll for. */
export interface Poll<T> {
  /** Asks the store, unless this process knows; `undefined` when it is not there yet. */
  look(): Promise<T | undefined> | T | undefined
  /** Notified when it may be there. */
  readonly wakeUp: PermitNotify
  /** Whether `wakeUp` is certain to be notified, so that polling is unnecessary. */
  isNotified?(): boolean
  /** Whether `wakeUp` is usually notified, so that a poll now and then is enough. */
  isHinted?(): boolean
}

/** Polls until there is something. Rejects with the signal's reason when it aborts. */
export async function pollUntil<T>(
  clock: Clock,
  poll: Poll<T>,
  signal: Abortable | undefined,
): Promise<T> {
  const { wakeUp } = poll
  for (let delayMs = MIN_POLL_MS; ; delayMs *= 2) {
    signal?.throwIfAborted()
    // Checked before the poll: an instance that leaves this process meanwhile notifies `wakeUp`.
    const isSure = poll.isNotified?.() === true
    const looked = poll.look()
    const found = looked instanceof Promise ? await looked.catch(undefinedIfUnanswered) : looked
    if (found !== undefined) return found
    if (wakeUp.takePermit()) continue
    delayMs =
      poll.isHinted?.() === true
        ? Math.min(Math.max(delayMs, MIN_HINTED_POLL_MS), MAX_HINTED_POLL_MS)
        : Math.min(delayMs, MAX_POLL_MS)
    const restMs = isSure ? undefined : inStep(clock.now(), delayMs)
    const rest = new WakeWait(clock, [wakeUp], restMs, 'poll')
    // If the signal aborted during the poll, this calls back at once.
    const stopListening = signal && onAbort(signal, () => rest.stop())
    await rest.ended
    stopListening?.()
  }
}

/**
 * Aligns the polls of all waits that are at least a second apart, so that one statement serves all of
 * them.
 */
function inStep(nowMs: number, delayMs: number): number {
  if (delayMs < STEP_FROM_MS) return delayMs
  return Math.round((nowMs + delayMs) / STEP_MS) * STEP_MS - nowMs
}

/** A store that does not answer now is polled again later. */
function undefinedIfUnanswered(error: unknown): undefined {
  if (error instanceof StoreError && error.retryable) return undefined
  throw error
}
