import { describe } from '../base/describe.ts'
import { durationMs, type Duration } from '../base/time/duration.ts'

/**
 * What a pass wants next, with a payload for the listeners.
 *
 * - `proceed`: there is more to do; run again after the current pace.
 * - `idle`: there is nothing to do; run again when woken.
 * - `sleep`: run again after a time, or earlier when woken.
 */
export type Directive<P = void> =
  | { readonly next: 'proceed' | 'idle'; readonly payload: P }
  | { readonly next: 'sleep'; readonly ms: number; readonly payload: P }

/** There is more to do: run again after the current pace. */
export function proceed(): Directive
export function proceed<P>(payload: P): Directive<P>
export function proceed(payload?: unknown): Directive<unknown> {
  return { next: 'proceed', payload }
}

/** There is nothing to do: run again when a notifier wakes the worker. */
export function idle(): Directive
export function idle<P>(payload: P): Directive<P>
export function idle(payload?: unknown): Directive<unknown> {
  return { next: 'idle', payload }
}

/** Run again after this time; a notifier ends the sleep early. */
export function sleep(duration: Duration): Directive
export function sleep<P>(duration: Duration, payload: P): Directive<P>
export function sleep(duration: Duration, payload?: unknown): Directive<unknown> {
  return { next: 'sleep', ms: durationMs(duration, 'sleep: duration'), payload }
}

/** The same directive with its payload transformed. */
export function mapPayload<P, Q>(directive: Directive<P>, map: (payload: P) => Q): Directive<Q> {
  return { ...directive, payload: map(directive.payload) }
}

/** The same directive without its payload. */
export function stripPayload(directive: Directive<unknown>): Directive {
  return { ...directive, payload: undefined }
}

/** Checks what a pass returned: forgetting to return anything is the common mistake. */
export function checkDirective(value: unknown): asserts value is Directive<unknown> {
  const next = (value as { next?: unknown } | null | undefined)?.next
  if (next === 'proceed' || next === 'idle') return
  if (next === 'sleep') {
    const { ms } = value as { ms?: unknown }
    if (typeof ms === 'number' && ms >= 0 && ms < Infinity) return
    throw new TypeError(`a pass returned sleep() with an invalid duration, got ${describe(ms)}`)
  }
  throw new TypeError(`a pass must return proceed(), idle() or sleep(…), got ${describe(value)}`)
}
