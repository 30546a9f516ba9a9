// A worker runs one pass after another, forever, and waits between them as the last one asked.
//
//   - Passes of one worker never overlap.
//   - It begins idle: nothing runs before the first wake-up.
//   - A wake-up is never lost: if a stop keeps the worker from handling it, before its first pass
//     or between passes that have more to do, it is passed on to another waiter.
//   - Only a stop, a refused permit, or a throw under `onThrow: 'propagate'` ends it. No listener
//     does, and no error.
//   - Stopping beats waking: if both are there, no further pass begins.

import type { Clock } from '../base/time/clock.ts'
import { describe } from '../base/describe.ts'
import { CancelledError } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import { PermitNotify } from '../base/sync/notify.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import { resolveOptions } from '../base/options.ts'
import { duration } from '../base/time/duration.ts'
import { MAX_REASON, shorten } from '../base/shorten.ts'
import { checkDirective, type Directive } from './directive.ts'
import { LazySignal } from '../base/sync/lazy-signal.ts'
import { Pace } from './pacing.ts'
import { type IntervalTrigger, startIntervalTrigger } from './interval-trigger.ts'
import { WakeWait, type Waking } from './wake-wait.ts'
import { type Pass, timedPass } from './timed-pass.ts'
import type { Health, PassContext, StopOptions, StopReport, Worker } from './worker.ts'
import type { WorkerSetup } from './worker-options.ts'

/**
 * Returns how long to wait before starting again, or `undefined` to let the worker be dead, which
 * is all there is to say for one that was `stopping`.
 */
export type DeathWatch = (
  worker: WorkerLoop,
  error: unknown,
  stopping: boolean,
) => number | undefined

/** What happens between two passes: what the last one asked for, or another try after its error. */
type Between = Directive<unknown> | { readonly next: 'retry'; readonly ms: number }

// A loop without delays keeps other work of the process waiting no longer than this.
const YIELD_AFTER_MS = 1
// On a virtual clock no time passes within a loop: this lets it see a loop that never waits.
const YIELD_AFTER_PASSES = 100
// The share of a stop's time in which passes may finish undisturbed.
const UNDISTURBED = 0.8
// How deep an abort may be wrapped by code that passed it on. Causes may be circular.
const MAX_CAUSES = 10

const NO_PERMIT: Disposable = { [Symbol.dispose]() {} }

/** The running worker behind `worker()`. */
export class WorkerLoop implements Worker {
  readonly name: string
  readonly done: Promise<void>
  readonly #setup: WorkerSetup
  readonly #clock: Clock
  readonly #pass: Pass
  readonly #pace: Pace
  readonly #context: PassContext
  readonly #abort = new LazySignal()
  readonly #stopping = new LazySignal()
  readonly #trigger: IntervalTrigger | undefined
  readonly #wakeOn: readonly PermitNotify[]
  #state: Health['state'] = 'idle'
  #stopRequested = false
  #interrupt: (() => void) | undefined
  /** Which notify woke it, until a pass finds nothing more to do. */
  #wokenBy: PermitNotify | undefined
  #wakesAtMs: number | undefined
  #ignoresBeat = false
  #startedMs: number
  #lastRunAtMs: number | undefined
  #lastError: string | undefined
  #yieldedMs: number
  #passesSinceYield = 0
  #deathWatch: DeathWatch | undefined

  constructor(name: string, setup: WorkerSetup, pass: Pass) {
    const { clock, everyMs, log, signal } = setup
    this.name = name
    this.#setup = setup
    this.#clock = clock
    this.#pass = pass
    this.#pace = new Pace(setup.pacing)
    this.#context = passContext(this.#abort, this.#stopping, log)
    this.#startedMs = this.#yieldedMs = clock.now()
    const beat = new PermitNotify()
    this.#trigger = everyMs === undefined ? undefined : startIntervalTrigger(clock, everyMs, beat)
    this.#wakeOn = everyMs === undefined ? setup.wakeOn : [...setup.wakeOn, beat]
    if (this.#wakeOn.length === 0) {
      log.warn({}, 'worker has neither wakeOn nor every: nothing will ever wake it')
    }
    // In a microtask, so that the caller has the worker in hand before a listener is called.
    this.done = Promise.resolve()
      .then(() => this.#live())
      .finally(() => {
        this.#trigger?.stop()
        stopListening?.()
      })
    // A death is logged, shown by health() and reported to the supervisor; awaiting it is optional.
    this.done.catch(() => {})
    const stopListening = signal && onAbort(signal, () => void this.stop())
  }

  health(): Health {
    const nowMs = this.#clock.now()
    const dateOf = (ms: number): Date => new Date(this.#clock.date().getTime() + ms - nowMs)
    const ended = this.#state === 'stopped' || this.#state === 'dead'
    const wakesAtMs = Math.min(
      this.#wakesAtMs ?? Infinity,
      this.#ignoresBeat ? Infinity : (this.#trigger?.nextAtMs ?? Infinity),
    )
    return {
      name: this.name,
      state: this.#state,
      failures: this.#setup.bulkhead.failures,
      ...(this.#lastRunAtMs !== undefined && { lastRunAt: dateOf(this.#lastRunAtMs) }),
      ...(this.#lastError !== undefined && { lastError: this.#lastError }),
      ...(!ended &&
        !this.#stopRequested &&
        wakesAtMs !== Infinity && { nextWakeAt: dateOf(wakesAtMs) }),
    }
  }

  async stop(given: StopOptions = {}): Promise<StopReport> {
    const { within } = resolveOptions(`worker "${this.name}": stop`, given, {
      within: duration(30_000),
    })
    this.#stopRequested = true
    this.#trigger?.stop()
    this.#stopping.abort(new CancelledError(`worker "${this.name}" is being stopped`))
    this.#interrupt?.()
    if (await this.#endsWithin(within * UNDISTURBED)) return { stragglers: [] }
    this.#abort.abort(new CancelledError(`worker "${this.name}" must end now`))
    if (await this.#endsWithin(within * (1 - UNDISTURBED))) return { stragglers: [] }
    this.#setup.log.error(
      { withinMs: within },
      'worker did not stop in time; its pass is still running',
    )
    return { stragglers: [this.name] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Whether a supervisor decides what a death leads to. */
  get supervised(): boolean {
    return this.#deathWatch !== undefined
  }

  /** Lets a supervisor decide what a death leads to. There is one at most. */
  watchDeath(watch: DeathWatch): void {
    this.#deathWatch = watch
  }

  /** The wait that this worker's backoff asks for after this many failures. */
  backoffMs(failures: number): number {
    return this.#setup.bulkhead.waitMs(failures)
  }

  async #live(): Promise<void> {
    let first: Between = { next: 'idle', payload: undefined }
    for (;;) {
      try {
        await this.#loop(first)
        this.#state = 'stopped'
        return
      } catch (error) {
        this.#state = 'dead'
        this.#lastError = messageOf(error)
        this.#setup.log.error({ err: error }, 'worker died')
        const delayMs = this.#deathWatch?.(this, error, this.#stopRequested)
        if (delayMs === undefined) throw error
        // It may have died with a wake-up in hand, so the first thing is to look for work.
        first = { next: 'retry', ms: delayMs }
      }
    }
  }

  async #loop(first: Between): Promise<void> {
    const { listeners } = this.#setup
    listeners.emit('onStart')
    for (let between = first; ;) {
      const waking = await this.#rest(between)
      if (waking instanceof PermitNotify) this.#wokenBy = waking
      const permit = this.#stopRequested ? undefined : await this.#enter()
      if (permit === undefined) {
        this.#wokenBy?.notifyOne() // A wake-up is never lost.
        break
      }
      try {
        between = await this.#runPass()
      } finally {
        permit[Symbol.dispose]()
      }
    }
    listeners.emit('onStop')
  }

  async #rest(between: Between): Promise<Waking> {
    const { bulkhead, listeners } = this.#setup
    switch (between.next) {
      case 'proceed': {
        const paceMs = this.#pace.next()
        return paceMs > 0 ? this.#wait('sleeping', [], paceMs) : this.#letOthersRun()
      }
      case 'retry':
        this.#pace.rest()
        return this.#wait('backing-off', [], between.ms)
      case 'sleep':
        this.#pace.rest()
        this.#wokenBy = undefined
        listeners.emit('onSleep', between.ms)
        return this.#wait('sleeping', this.#wakeOn, between.ms)
      case 'idle': {
        this.#pace.rest()
        listeners.emit('onIdle')
        // Under `retryOn: 'notifier'` a failed worker is idle, with a floor from its pass's start.
        const floorMs = bulkhead.floorMs - (this.#clock.now() - this.#startedMs)
        if (floorMs > 0 && (await this.#wait('backing-off', [], floorMs)) === 'stop') return 'stop'
        this.#wokenBy = undefined
        return this.#wait('idle', this.#wakeOn, undefined)
      }
    }
  }

  /** Waits for a notifier, for a time, or for the stop: whichever comes first. */
  async #wait(
    state: Health['state'],
    notifies: readonly PermitNotify[],
    ms: number | undefined,
  ): Promise<Waking> {
    if (this.#stopRequested) return 'stop'
    const ready = notifies.find((notify) => notify.takePermit())
    if (ready !== undefined) {
      await this.#letOthersRun()
      return ready
    }
    const rest = new WakeWait(this.#clock, notifies, ms)
    this.#state = state
    this.#wakesAtMs = ms === undefined ? undefined : this.#clock.now() + ms
    this.#ignoresBeat = notifies.length === 0
    this.#interrupt = () => rest.stop()
    const waking = await rest.ended
    this.#interrupt = undefined
    this.#wakesAtMs = undefined
    this.#ignoresBeat = false
    return waking
  }

  /** Between passes without a delay: gives timers and I/O of the process their turn. */
  async #letOthersRun(): Promise<Waking> {
    if (this.#stopRequested) return 'stop'
    const nowMs = this.#clock.now()
    const tooLong = nowMs - this.#yieldedMs >= YIELD_AFTER_MS
    if (tooLong || ++this.#passesSinceYield >= YIELD_AFTER_PASSES) {
      await this.#clock.yield()
      this.#yieldedMs = this.#clock.now()
      this.#passesSinceYield = 0
    }
    return 'time'
  }

  /** Takes a permit of the limit; `undefined` when refused or stopped. */
  async #enter(): Promise<Disposable | undefined> {
    const { bulkhead } = this.#setup
    if (bulkhead.unlimited) return NO_PERMIT
    const free = bulkhead.tryEnter()
    if (free !== undefined) return free
    const application = bulkhead.apply()
    this.#state = 'waiting'
    this.#interrupt = () => application.withdraw()
    const permit = await application.outcome
    this.#interrupt = undefined
    if (this.#stopRequested) permit?.[Symbol.dispose]()
    return this.#stopRequested ? undefined : permit
  }

  async #runPass(): Promise<Between> {
    const { bulkhead, listeners, meters, timeoutMs, retryOn, onThrow } = this.#setup
    listeners.emit('onExecute')
    this.#state = 'running'
    const startedMs = (this.#startedMs = this.#lastRunAtMs = this.#clock.now())
    try {
      const directive =
        timeoutMs === undefined
          ? await this.#pass(this.#context)
          : await timedPass(this.#pass, this.#context, this.#clock, timeoutMs)
      checkDirective(directive)
      bulkhead.reset()
      this.#lastError = undefined
      listeners.emit('onComplete', this.#clock.now() - startedMs, directive)
      return directive
    } catch (error) {
      // It was asked to end and did; the loop sees the stop before it would retry.
      if (this.#stopRequested && this.#isAbort(error)) return { next: 'retry', ms: 0 }
      const ms = this.#clock.now() - startedMs
      const backoffMs = bulkhead.escalate()
      this.#lastError = messageOf(error)
      const receivers = onThrow === 'propagate' ? meters : listeners
      receivers.emit('onError', ms, error, bulkhead.failures, backoffMs)
      if (onThrow === 'propagate') throw error
      return retryOn === 'timer'
        ? { next: 'retry', ms: backoffMs }
        : { next: 'idle', payload: undefined }
    }
  }

  /** Whether this is what a stop aborted the signals of a pass with, or was caused by it. */
  #isAbort(error: unknown): boolean {
    const reasons: unknown[] = [this.#stopping.reason, this.#abort.reason]
    try {
      let at = error
      for (let depth = 0; depth < MAX_CAUSES && at !== undefined; depth++) {
        if (reasons.includes(at)) return true
        at = (at as Error | null)?.cause
      }
    } catch {
      // It cannot be read, so it is none of ours.
    }
    return false
  }

  /** True when the worker ends within this time. */
  async #endsWithin(ms: number): Promise<boolean> {
    const ended = this.done.then(
      () => true,
      () => true,
    )
    let timer: { cancel(): void } | undefined
    const late = new Promise<false>((resolve) => {
      timer = this.#clock.after(ms, () => resolve(false))
    })
    const inTime = await Promise.race([ended, late])
    timer?.cancel()
    return inTime
  }
}

function passContext(abort: LazySignal, stopping: LazySignal, log: Logger): PassContext {
  return {
    get signal() {
      return abort.signal
    },
    get stopping() {
      return stopping.signal
    },
    log,
  }
}

/** The message of an error. Never throws: even an error that cannot be read has to be reported. */
function messageOf(error: unknown): string {
  try {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return shorten(text, MAX_REASON)
  } catch {
    return describe(error)
  }
}
