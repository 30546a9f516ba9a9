import type { Logger } from '../base/log.ts'
import { harmless, type Metrics } from '../base/metrics.ts'
import { catchRejection } from '../base/thenable.ts'
import type { Directive } from './directive.ts'

/**
 * Receives the events of a worker. Every callback is optional; listeners are called in the order
 * given. An error that a callback throws or rejects with is logged once and otherwise ignored.
 */
export interface Listener<P> {
  /** Once, before the first wait (and again when a supervisor restarts the worker). */
  onStart?(): void
  /** Once, when the worker ends because it was stopped. Not when it dies. */
  onStop?(): void
  /** Before each pass, after its permit was taken. */
  onExecute?(): void
  /** After a pass that succeeded: how long it took, and what it wants next. */
  onComplete?(ms: number, directive: Directive<P>): void
  /** After a pass that failed: failures in a row, and how long the worker will wait for that. */
  onError?(ms: number, error: unknown, failures: number, backoffMs: number): void
  /** Each time the worker begins to wait for a notifier. */
  onIdle?(): void
  /** Each time the worker begins a sleep. */
  onSleep?(ms: number): void
}

type Callback = keyof Listener<unknown>
type Arguments<C extends Callback> = Parameters<NonNullable<Listener<unknown>[C]>>

/** Calls the listeners of one worker, and isolates it from their errors. */
export class Listeners {
  readonly #calls: { readonly [C in Callback]: readonly ((...args: Arguments<C>) => unknown)[] }

  constructor(listeners: readonly Listener<never>[], log: Logger) {
    const calls = (callback: Callback): ((...args: never[]) => unknown)[] =>
      listeners.flatMap((listener) => {
        const call = listener[callback] as ((...args: unknown[]) => unknown) | undefined
        if (typeof call !== 'function') return []
        let complained = false
        const complain = (error: unknown): void => {
          // Once each: a broken listener of a fast loop would fill the log.
          if (complained) return
          complained = true
          log.error(
            { callback, err: error },
            'a listener threw; later errors of this callback are not logged',
          )
        }
        return (...args: unknown[]): void => {
          try {
            catchRejection(call.apply(listener, args), complain)
          } catch (error) {
            complain(error)
          }
        }
      })
    this.#calls = {
      onStart: calls('onStart'),
      onStop: calls('onStop'),
      onExecute: calls('onExecute'),
      onComplete: calls('onComplete'),
      onError: calls('onError'),
      onIdle: calls('onIdle'),
      onSleep: calls('onSleep'),
    } as never
  }

  emit<C extends Callback>(callback: C, ...args: Arguments<C>): void {
    const calls = this.#calls[callback]
    for (let i = 0; i < calls.length; i++) calls[i]!(...args)
  }
}

// The first failures are often passing trouble; a worker that keeps failing wants attention.
const QUIET_FAILURES = 3

/** Writes what a worker does to a log, louder when it fails again and again. */
export function logListener(log: Logger): Listener<unknown> {
  let failing = 0
  return {
    onStart: () => log.debug({}, 'worker started'),
    onStop: () => log.debug({}, 'worker stopped'),
    onComplete() {
      if (failing > QUIET_FAILURES) log.info({ failures: failing }, 'worker recovered')
      failing = 0
    },
    onError(ms, error, failures, backoffMs) {
      failing = failures
      const line = { ms: Math.round(ms), failures, backoffMs: Math.round(backoffMs), err: error }
      if (failures <= QUIET_FAILURES) log.debug(line, 'pass failed, retrying')
      else log.warn(line, 'pass failed repeatedly, retrying')
    },
  }
}

/** Counts and times the passes of a worker. */
export function metricsListener(name: string, sink: Metrics, log: Logger): Listener<unknown> {
  const labels = { worker: name }
  const metrics = harmless(sink, log)
  const measure = (counter: string, ms: number): void => {
    metrics.count(counter, 1, labels)
    metrics.record('holdfast_worker_pass_ms', ms, labels)
  }
  return {
    onComplete: (ms) => measure('holdfast_worker_passes', ms),
    onError: (ms) => measure('holdfast_worker_failures', ms),
  }
}
