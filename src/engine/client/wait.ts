// How clients wait for what happens elsewhere: they look, and rest between looks.

import type { Clock } from '../../base/time/clock.ts'
import type { PermitNotify } from '../../base/sync/notify.ts'
import { type Abortable, onAbort } from '../../base/sync/on-abort.ts'
import { having, option } from '../../base/options.ts'
import { duration } from '../../base/time/duration.ts'
import { StoreError } from '../../store/store-error.ts'
import { Rest } from '../../workers/rest.ts'

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
const FIRST_LOOK_MS = 10
const LATEST_LOOK_MS = 1_000
// The same where hints are heard: looks only make up for lost ones.
const FIRST_HINTED_LOOK_MS = 1_000
const LATEST_HINTED_LOOK_MS = 10_000
// Looks that are rare anyway come in step.
const STEP_FROM_MS = 1_000
const STEP_MS = 1_000

/** Something to look for. */
export interface Search<T> {
  /** `undefined` when it is not there yet. */
  look(): Promise<T | undefined>
  /** Notified when a look may be worth while. */
  readonly news: PermitNotify
  /** Whether `news` is sure to come, so that looking would be in vain. */
  isToldOf?(): boolean
  /** Whether `news` comes as a rule, so that a look now and then will do. */
  isHintedAt?(): boolean
}

/** Looks until there is something; rejects with the reason of the signal when that comes first. */
export async function lookUntil<T>(
  clock: Clock,
  search: Search<T>,
  signal: Abortable | undefined,
): Promise<T> {
  const { news } = search
  for (let delayMs = FIRST_LOOK_MS; ; delayMs *= 2) {
    signal?.throwIfAborted()
    // Asked before the look: what leaves this process meanwhile says so.
    const isTold = search.isToldOf?.() === true
    const found = await search.look().catch(nothingYet)
    if (found !== undefined) return found
    if (news.takePermit()) continue
    delayMs =
      search.isHintedAt?.() === true
        ? Math.min(Math.max(delayMs, FIRST_HINTED_LOOK_MS), LATEST_HINTED_LOOK_MS)
        : Math.min(delayMs, LATEST_LOOK_MS)
    const restMs = isTold ? undefined : inStep(clock.now(), delayMs)
    await restUntil(new Rest(clock, [news], restMs), signal)
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
function nothingYet(error: unknown): undefined {
  if (error instanceof StoreError && error.retryable) return undefined
  throw error
}

/** The end of a rest, or a rejection when the signal aborts first. */
async function restUntil(rest: Rest, signal: Abortable | undefined): Promise<void> {
  // It may have aborted during the look, when nobody listened: then this is told at once.
  const stopListening = signal && onAbort(signal, () => rest.stop())
  await rest.ended
  stopListening?.()
  signal?.throwIfAborted()
}
