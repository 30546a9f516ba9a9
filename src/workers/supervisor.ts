import { type Clock, systemClock } from '../base/time/clock.ts'
import { describe } from '../base/describe.ts'
import { type Duration, duration } from '../base/time/duration.ts'
import { childLog, defaultLog, type Logger, logger } from '../base/log.ts'
import { having, number, oneOf, option, resolveOptions } from '../base/options.ts'
import { type DeathWatch, WorkerLoop } from './worker-loop.ts'
import type { Health, StopOptions, StopReport, Worker } from './worker.ts'

/** How a supervisor treats workers that die. */
export interface SupervisorOptions {
  /**
   * What happens when a worker dies (its pass threw under `onThrow: 'propagate'`): nothing but a
   * log line (`never`), it is started again after its backoff (`one`), or that, and when it dies too
   * often everything is stopped and `done` rejects (`escalate`).
   *
   * @default 'one'
   */
  restart?: 'never' | 'one' | 'escalate'
  /** How many restarts one worker gets `per` window, before it is left dead. @default 5 */
  max?: number
  /** The window in which restarts are counted. @default '1m' */
  per?: Duration
  /** Called on every death, at the moment it happens. */
  onDeath?: (worker: Health, error: unknown) => void
  /** The logger. By default warnings and errors are written to stderr. */
  log?: Logger
  /** The clock; tests pass a virtual one. */
  clock?: Clock
}

/** Keeps workers running and ends them together. Leaving an `await using` block stops all. */
export interface Supervisor extends AsyncDisposable {
  /**
   * Resolves when everything was stopped, by `stop()` here or each worker by itself. Rejects with
   * its error when a worker died too often (`escalate`), or when the last one left has died for
   * good.
   */
  readonly done: Promise<void>
  /**
   * Adds a worker. Its name must be unique among the running workers, and it must not have another
   * supervisor.
   */
  add(worker: Worker): void
  /**
   * The state of every worker, in the order they were added. Of those that have ended, the latest
   * hundred are included.
   */
  health(): readonly Health[]
  /** Stops all workers at once, in phases; reports those that did not end in time. */
  stop(options?: StopOptions): Promise<StopReport>
}

/**
 * Watches over workers: one that dies is noticed at once and, by default, started again.
 *
 * @example
 * await using app = supervise([mailer, vacuum], { restart: 'escalate' })
 * process.once('SIGTERM', () => app.stop({ within: '10s' }))
 */
export function supervise(
  workers: readonly Worker[] = [],
  options: SupervisorOptions = {},
): Supervisor {
  if (!Array.isArray(workers)) {
    throw new TypeError(`supervise: workers must be a list, got ${describe(workers)}`)
  }
  const group = new WorkerGroup(options)
  group.addAll(workers)
  return group
}

/** This many workers that have ended are kept for `health()`. */
const MAX_ENDED = 100

class WorkerGroup implements Supervisor {
  readonly done: Promise<void>
  readonly #workers = new Map<string, WorkerLoop>()
  /** Those of them that have ended, in the order they did. */
  readonly #ended = new Set<WorkerLoop>()
  readonly #deaths = new WeakMap<WorkerLoop, number[]>()
  readonly #restart: 'never' | 'one' | 'escalate'
  readonly #max: number
  readonly #perMs: number
  readonly #onDeath: ((worker: Health, error: unknown) => void) | undefined
  readonly #log: Logger
  readonly #clock: Clock
  #settle!: { resolve: () => void; reject: (error: unknown) => void }
  #stopped = false

  constructor(given: SupervisorOptions) {
    const options = resolveOptions('supervise', given, {
      restart: oneOf(['never', 'one', 'escalate'], 'one'),
      max: number({ min: 0, integer: true }, 5),
      per: duration(60_000),
      onDeath: option(callback, undefined),
      log: option(logger, defaultLog),
      clock: option(having<Clock>('a clock', ['now', 'date', 'after', 'yield']), undefined),
    })
    this.#restart = options.restart
    this.#max = options.max
    this.#perMs = options.per
    this.#onDeath = options.onDeath
    this.#log = childLog(options.log, {})
    this.#clock = options.clock ?? systemClock()
    this.done = new Promise((resolve, reject) => (this.#settle = { resolve, reject }))
    this.done.catch(() => {})
  }

  add(worker: Worker): void {
    this.addAll([worker])
  }

  /** Takes on all of them or, when one is refused, none: the others are free for another try. */
  addAll(workers: Iterable<Worker>): void {
    const added = new Map<string, WorkerLoop>()
    for (const worker of workers) {
      const loop = this.#check(worker)
      const namesake = this.#workers.get(loop.name)
      const isTaken = namesake !== undefined && !this.#ended.has(namesake)
      if (isTaken || added.has(loop.name)) {
        throw new Error(`supervise: a worker named "${loop.name}" already exists`)
      }
      added.set(loop.name, loop)
    }
    for (const [name, loop] of added) {
      loop.watchDeath(this.#onWorkerDeath)
      const namesake = this.#workers.get(name)
      if (namesake !== undefined) this.#forget(namesake)
      this.#workers.set(name, loop)
      loop.done.then(
        () => this.#onWorkerEnd(loop, () => this.#settle.resolve()),
        (error: unknown) => this.#onWorkerEnd(loop, () => this.#settle.reject(error)),
      )
    }
  }

  #check(worker: Worker): WorkerLoop {
    if (!(worker instanceof WorkerLoop)) {
      throw new TypeError(`supervise: a worker must be made by worker(), got ${describe(worker)}`)
    }
    if (this.#stopped) {
      throw new Error(`supervise: worker "${worker.name}" was added after stop()`)
    }
    const health = worker.health()
    if (hasEnded(health)) {
      throw new Error(`supervise: worker "${worker.name}" is already ${health.state}`)
    }
    if (worker.supervised) {
      throw new Error(`supervise: worker "${worker.name}" already has a supervisor`)
    }
    return worker
  }

  health(): readonly Health[] {
    return [...this.#workers.values()].map((worker) => worker.health())
  }

  async stop(options: StopOptions = {}): Promise<StopReport> {
    resolveOptions('supervise: stop', options, { within: duration(30_000) })
    this.#stopped = true
    const reports = await Promise.all([...this.#workers.values()].map((w) => w.stop(options)))
    this.#settle.resolve()
    return { stragglers: reports.flatMap((report) => report.stragglers) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  readonly #onWorkerDeath: DeathWatch = (worker, error, stopping) => {
    this.#reportDeath(worker, error)
    if (stopping || this.#stopped || this.#restart === 'never') return undefined
    const nowMs = this.#clock.now()
    const recent = (this.#deaths.get(worker) ?? []).filter((at) => at > nowMs - this.#perMs)
    recent.push(nowMs)
    this.#deaths.set(worker, recent)
    if (recent.length <= this.#max) {
      const delayMs = worker.backoffMs(recent.length)
      const data = { worker: worker.name, deaths: recent.length, delayMs: Math.round(delayMs) }
      this.#log.warn(data, 'restarting worker')
      return delayMs
    }
    this.#log.error(
      { worker: worker.name, deaths: recent.length },
      'worker died too often; not restarting it',
    )
    if (this.#restart === 'escalate') {
      this.#settle.reject(error)
      void this.stop()
    }
    return undefined
  }

  /** When this was the last worker, how it ended is how the whole ended. */
  #onWorkerEnd(worker: WorkerLoop, settle: () => void): void {
    this.#ended.add(worker)
    // A stop settles by itself: a worker that dies of it does not make it fail.
    if (!this.#stopped && this.#ended.size === this.#workers.size) settle()
    // Those of a stop are as many as there were.
    if (this.#stopped || this.#ended.size <= MAX_ENDED) return
    const [oldest] = this.#ended
    this.#forget(oldest!)
  }

  #forget(worker: WorkerLoop): void {
    this.#workers.delete(worker.name)
    this.#ended.delete(worker)
  }

  #reportDeath(worker: WorkerLoop, error: unknown): void {
    const complain = (thrown: unknown): void =>
      this.#log.error({ err: thrown }, 'onDeath threw; ignored')
    try {
      const returned: unknown = this.#onDeath?.(worker.health(), error)
      // It may still be an async function.
      Promise.resolve(returned).catch(complain)
    } catch (thrown) {
      complain(thrown)
    }
  }
}

function hasEnded({ state }: Health): boolean {
  return state === 'stopped' || state === 'dead'
}

function callback(value: unknown, what: string): (worker: Health, error: unknown) => void {
  if (typeof value === 'function') return value as (worker: Health, error: unknown) => void
  throw new TypeError(`${what} must be a function, got ${describe(value)}`)
}
