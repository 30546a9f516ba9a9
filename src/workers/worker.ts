import { describe } from '../base/describe.ts'
import type { Duration } from '../base/time/duration.ts'
import type { Logger } from '../base/log.ts'
import type { Directive } from './directive.ts'
import { WorkerLoop } from './worker-loop.ts'
import { resolveWorkerOptions, type WorkerOptions } from './worker-options.ts'

/** The argument of a pass. */
export interface PassContext {
  /** Aborts when the pass is out of time, or when a stop has waited long enough. */
  readonly signal: AbortSignal
  /** Aborts as soon as a stop begins: a long pass may come to an end early and return. */
  readonly stopping: AbortSignal
  /** The worker's log; its lines carry the worker's name. */
  readonly log: Logger
}

/** The state of a worker. */
export interface Health {
  readonly name: string
  /**
   * `idle`: waits for a notifier · `sleeping`: waits for a time · `waiting`: woken, waits for a
   * permit of its limit · `running`: in a pass · `backing-off`: failed, waits to try again ·
   * `stopped`, `dead`: has ended.
   */
  readonly state: 'idle' | 'sleeping' | 'waiting' | 'running' | 'backing-off' | 'stopped' | 'dead'
  /** Failures in a row; 0 after a success. */
  readonly failures: number
  /** When the latest pass began. */
  readonly lastRunAt?: Date
  /** The message of the latest failure, until a pass succeeds. */
  readonly lastError?: string
  /** When it will wake without being notified. */
  readonly nextWakeAt?: Date
}

/** Which workers were still running when the time for stopping was over. */
export interface StopReport {
  readonly stragglers: readonly string[]
}

/** Options of a stop. */
export interface StopOptions {
  /**
   * How long the stop may take in all. Running passes may finish for the first four fifths; then
   * their signal aborts; workers that still run at the end are reported as stragglers.
   *
   * @default '30s'
   */
  within?: Duration
}

/** A loop that runs until it is stopped. Leaving an `await using` block stops it. */
export interface Worker extends AsyncDisposable {
  readonly name: string
  /** Resolves when the worker has stopped; rejects with the error it died of. */
  readonly done: Promise<void>
  /** Its current state. */
  health(): Health
  /** Stops it in phases. Safe to call again, also with less time. */
  stop(options?: StopOptions): Promise<StopReport>
}

/**
 * Starts a worker: calls `pass` again and again, as its directives say.
 *
 * The worker begins idle, so the first pass waits for a notifier or for `every`. A pass that
 * throws is retried with backoff, unless `onThrow` says otherwise.
 *
 * @example
 * const work = notify()
 * await using mailer = worker('mailer', { wakeOn: [work] }, async () => {
 *   const sent = await sendBatch()
 *   return sent === 0 ? idle() : proceed()
 * })
 */
export function worker<D extends Directive<unknown> = Directive>(
  name: string,
  // Only the pass says what its payloads are, and they may be of several types.
  options: WorkerOptions<NoInfer<D>['payload']>,
  pass: (ctx: PassContext) => Promise<D>,
): Worker {
  const setup = resolveWorkerOptions(name, options)
  if (typeof pass !== 'function') {
    throw new TypeError(`worker "${name}": pass must be a function, got ${describe(pass)}`)
  }
  return new WorkerLoop(name, setup, pass)
}
