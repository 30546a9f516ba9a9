// How clients wait for what happens elsewhere: they look, and rest between looks.

import type { Clock } from '../../base/time/clock.ts'
import type { PermitNotify } from '../../base/sync/notify.ts'
import { type Abortable, onAbort } from '../../base/sync/on-abort.ts'
import { having, option } from '../../base/options.ts'
import { duration } from '../../base/time/duration.ts'
import { StoreError } from '../../store/store-error.ts'
import { WakeWait } from '../../workers/wake-wait.ts'

/** The options of `Wait`. */
export const WAIT_OPTIONS = {
  timeout: duration(undefined),
  signal: option(having<AbortSignal>('an AbortSignal', ['addEventListener']), undefined),
}

/** `Wait`, checked. */
export interface ResolvedWait {
  readonly timeout: number | undefined
  readonly signal: AbortSignal | undefined
}

// The first look comes soon, later ones at longer and longer intervals.
const MIN_POLL_MS = 10
const MAX_POLL_MS = 1_000
// The same where hints are heard: looks only make up for lost ones.
const MIN_HINTED_POLL_MS = 1_000
const MAX_HINTED_POLL_MS = 10_000
// Looks that are rare anyway come in step.
const STEP_FROM_MS = 1_000
const STEP_MS = 1_000

/** Something to look for. */
export interface Poll<T> {
  /** `undefined` when it is not there yet. */
  look(): Promise<T | undefined>
  /** Notified when a look may be worth while. */
  readonly wakeUp: PermitNotify
  /** Whether `news` is sure to come, so that looking would be in vain. */
  isNotified?(): boolean
  /** Whether `news` comes as a rule, so that a look now and then will do. */
  isHinted?(): boolean
}

/** Looks until there is something; rejects with the reason of the signal when that comes first. */
export async function pollUntil<T>(
  clock: Clock,
  poll: Poll<T>,
  signal: Abortable | undefined,
): Promise<T> {
  const { wakeUp } = poll
  for (let delayMs = MIN_POLL_MS; ; delayMs *= 2) {
    signal?.throwIfAborted()
    // Asked before the look: what leaves this process meanwhile says so.
    const isSure = poll.isNotified?.() === true
    const found = await poll.look().catch(undefinedIfUnanswered)
    if (found !== undefined) return found
    if (wakeUp.takePermit()) continue
    delayMs =
      poll.isHinted?.() === true
        ? Math.min(Math.max(delayMs, MIN_HINTED_POLL_MS), MAX_HINTED_POLL_MS)
        : Math.min(delayMs, MAX_POLL_MS)
    const restMs = isSure ? undefined : inStep(clock.now(), delayMs)
    await restUntil(new WakeWait(clock, [wakeUp], restMs), signal)
  }
}

/**
 * Rests of a second and more end in step with those of other waits: their looks leave as one
 * statement, however many wait and whenever each of them began.
 */
function inStep(nowMs: number, delayMs: number): number {
  if (delayMs < STEP_FROM_MS) return delayMs
  return Math.round((nowMs + delayMs) / STEP_MS) * STEP_MS - nowMs
}

/** A store that does not answer right now says nothing about what is looked for. */
function undefinedIfUnanswered(error: unknown): undefined {
  if (error instanceof StoreError && error.retryable) return undefined
  throw error
}

/** The end of a rest, or a rejection when the signal aborts first. */
async function restUntil(rest: WakeWait, signal: Abortable | undefined): Promise<void> {
  // It may have aborted during the look, when nobody listened: then this is told at once.
  const stopListening = signal && onAbort(signal, () => rest.stop())
  await rest.ended
  stopListening?.()
  signal?.throwIfAborted()
}
