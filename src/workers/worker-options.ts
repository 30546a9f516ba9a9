import { type Backoff, resolveBackoff } from '../base/time/backoff.ts'
import { type Clock, systemClock } from '../base/time/clock.ts'
import { describe } from '../base/describe.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import { childLog, defaultLog, type Logger, logger } from '../base/log.ts'
import { type Metrics, metricsSink } from '../base/metrics.ts'
import { type Notify, PermitNotify } from '../base/sync/notify.ts'
import { having, list, oneOf, option, resolveOptions } from '../base/options.ts'
import { checkSignal } from '../base/sync/signal.ts'
import { Bulkhead } from './bulkhead.ts'
import { type Limit, resolveLimit } from './limit.ts'
import { type Listener, Listeners, logListener, metricsListener } from './listener.ts'
import { type Pacing, type ResolvedPacing, resolvePacing } from './pacing.ts'

/** Options of `worker`. All of them are optional. */
export interface WorkerOptions<P = void> {
  /** Any of these wakes the worker. With none, and without `every`, nothing ever does. */
  wakeOn?: readonly Notify[]
  /** Wakes the worker at this interval, the first time after one interval. */
  every?: Duration
  /** The delay between passes that say `proceed`. */
  pacing?: Pacing
  /** A limit on what runs at once, shared with other workers. */
  limit?: Limit
  /** How long to wait after a pass failed. */
  backoff?: Backoff
  /**
   * After this time the pass's signal aborts with a `TimeoutError`, and the pass counts as failed
   * when it then throws. Passes never overlap: one that ignores its signal is waited for, and
   * reported.
   */
  timeout?: Duration
  /**
   * What ends the wait after an error: the end of the backoff (`timer`), or a notifier that fires
   * during or after it (`notifier`; its backoff is counted from the start of the failed pass).
   *
   * @default 'timer'
   */
  retryOn?: 'timer' | 'notifier'
  /**
   * What a throw of the pass means: an error to retry, or the end of the worker.
   *
   * @default 'retry'
   */
  onThrow?: 'retry' | 'propagate'
  /** Called on each event, in this order. */
  listeners?: readonly Listener<P>[]
  /** The logger. By default warnings and errors are written to stderr. */
  log?: Logger
  /** Receives counts and durations. By default nothing is measured. */
  metrics?: Metrics
  /** Stops the worker when it aborts, as `stop()` does. */
  signal?: AbortSignal
  /** The clock; tests pass a virtual one. */
  clock?: Clock
  /** Returns numbers from 0 up to 1, for the jitter of the backoff. @default Math.random */
  random?: () => number
}

/** What a worker runs on: its options, checked and complete. */
export interface WorkerSetup {
  readonly wakeOn: readonly PermitNotify[]
  readonly everyMs: number | undefined
  readonly pacing: ResolvedPacing
  readonly bulkhead: Bulkhead
  readonly timeoutMs: number | undefined
  readonly retryOn: 'timer' | 'notifier'
  readonly onThrow: 'retry' | 'propagate'
  readonly listeners: Listeners
  /** Those among the listeners that measure: they are called for an error that ends the worker, too. */
  readonly meters: Listeners
  readonly log: Logger
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
}

/** Checks the options of a worker and fills in what is missing. */
export function resolveWorkerOptions<P>(name: string, given: WorkerOptions<P>): WorkerSetup {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`worker: name must be a non-empty string, got ${describe(name)}`)
  }
  const owner = `worker "${name}"`
  const options = resolveOptions(owner, given, {
    wakeOn: list(permitNotify),
    every: duration(undefined, { min: 1 }),
    pacing: option((value, what) => resolvePacing(what, value as Pacing), resolvePacing(owner)),
    limit: option(resolveLimit, []),
    backoff: option((value, what) => resolveBackoff(what, value as Backoff), resolveBackoff(owner)),
    timeout: duration(undefined, { min: 1 }),
    retryOn: oneOf(['timer', 'notifier'], 'timer'),
    onThrow: oneOf(['retry', 'propagate'], 'retry'),
    listeners: list(having<Listener<never>>('a listener', [])),
    log: option(logger, defaultLog),
    metrics: option(metricsSink, undefined),
    signal: option((value) => signalOf(value, owner), undefined),
    clock: option(having<Clock>('a clock', ['now', 'date', 'after', 'yield']), undefined),
    random: option(randomSource, Math.random),
  })
  const log = childLog(options.log, { worker: name })
  const { metrics } = options
  const meters = metrics === undefined ? [] : [metricsListener(name, metrics, log)]
  return {
    wakeOn: options.wakeOn,
    everyMs: options.every,
    pacing: options.pacing,
    bulkhead: new Bulkhead(options.limit, options.backoff, options.random),
    timeoutMs: options.timeout,
    retryOn: options.retryOn,
    onThrow: options.onThrow,
    listeners: new Listeners([logListener(log), ...meters, ...options.listeners], log),
    meters: new Listeners(meters, log),
    log,
    signal: options.signal,
    clock: options.clock ?? systemClock(),
  }
}

function permitNotify(value: unknown, what: string): PermitNotify {
  if (value instanceof PermitNotify) return value
  throw new TypeError(`${what} must be made by notify(), got ${describe(value)}`)
}

function signalOf(value: unknown, owner: string): AbortSignal | undefined {
  checkSignal(value, owner)
  return value
}

function randomSource(value: unknown, what: string): () => number {
  if (typeof value === 'function') return value as () => number
  throw new TypeError(`${what} must be a function, got ${describe(value)}`)
}
