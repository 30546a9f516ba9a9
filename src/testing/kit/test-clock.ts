// The clock of a test runtime. It does not move while anything runs, and moves only for a caller that waits.
//
//   - A timer that is due fires by itself, one in each round of the event loop, ordered by time and then
//     by when it was set. After each, everything it triggered runs to its end.
//   - Code of the user and calls of the store take real time. While one runs, the clock does not move.
//   - Before the clock moves, everything that polls may look once more: what a notification would have
//     announced is found without any time passing.
//   - It moves to the next timer that something depends on. An interval that passes meanwhile fires once.

import { AsyncLocalStorage } from 'node:async_hooks'
import { Heap } from '../../base/heap.ts'
import type { Clock, ClockWait, Timer, TimerKind } from '../../base/time/clock.ts'

// As they are now: a test that replaces timers later must not stop us.
const { setImmediate, setTimeout, clearTimeout } = globalThis

// So many rounds of the event loop without anything to do mean that nothing runs.
const CALM_ROUNDS = 2
// The test itself may wait for something real before it goes on, so a wait is not given up at once.
const STUCK_MS = 500
const MAX_PER_INSTANT = 10_000
// Looking may itself lead to writes that change nothing, such as a claim of what cannot continue.
const MAX_LOOKS = 5
/** So far does time move by itself. */
export const MAX_YEARS = 100
const MAX_MS = MAX_YEARS * 365.25 * 86_400_000

const CLOSED =
  'the test runtime was closed during this call; await advance(), settle() and idle() before close()'

/** What the clock calls. */
export interface ClockHost {
  /** Nothing runs: looks for work that no notification has announced. */
  look(): void
  /**
   * Nothing runs and no timer may fire that could end these waits: none is set, or `isLate`, those that are
   * set are further away than time moves by itself.
   */
  stuck(waits: readonly ClockWait[], isLate: boolean): void
}

interface Scheduled {
  readonly fire: () => void
  readonly setAtMs: number
}

/** Code of the user that runs. */
class RunningCode {
  readonly view: ClockView
  #waits = 0
  #isOver = false

  constructor(view: ClockView) {
    this.view = view
    view.hold(1)
  }

  /** It waits for the runtime: time may pass meanwhile. */
  pause(): () => void {
    if (this.#waits++ === 0 && !this.#isOver) this.view.hold(-1)
    let isPaused = true
    return () => {
      if (!isPaused) return
      isPaused = false
      if (--this.#waits === 0 && !this.#isOver) this.view.hold(1)
    }
  }

  get isOver(): boolean {
    return this.#isOver
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.view.progressed()
    if (this.#waits === 0) this.view.hold(-1)
  }
}

const runningCode = new AsyncLocalStorage<RunningCode>()

/** The clock of the process that runs the caller, if that is code of the user. */
export function callersView(): ClockView | undefined {
  return runningCode.getStore()?.view
}

/** Whether the caller is code of the user that the clock waits for. */
export function isRunningCode(): boolean {
  return runningCode.getStore()?.isOver === false
}

interface Waiter {
  readonly done: () => void
  readonly fail: (error: Error) => void
}

/** A virtual clock that moves by itself. */
export class TestClock {
  /** Whether time moves while a caller waits; otherwise only `advance` moves it. */
  readonly isAuto: boolean
  readonly #startMs: number
  readonly #host: ClockHost
  readonly #timers = new Heap<Scheduled>()
  readonly #intervals = new Heap<Scheduled>()
  readonly #polls = new Map<Scheduled, number>()
  readonly #waits = new Set<ClockWait>()
  #settling: Waiter[] = []
  #advance: (Waiter & { readonly targetMs: number }) | undefined
  #nowMs = 0
  #holds = 0
  #calm = 0
  #firedNow = 0
  #isScheduled = false
  #hasPolled = false
  #looks = 0
  #stuck: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(start: Date, isAuto: boolean, host: ClockHost) {
    this.#startMs = start.getTime()
    this.isAuto = isAuto
    this.#host = host
  }

  now(): number {
    return this.#nowMs
  }

  /** Milliseconds since 1970. */
  dateMs(): number {
    return this.#startMs + this.#nowMs
  }

  /** The clock as one process sees it. */
  view(): ClockView {
    return new ClockView(this)
  }

  /** Resolves when nothing runs and nothing is due. No time passes. */
  settled(): Promise<void> {
    return new Promise((done, fail) => {
      this.#settling.push({ done, fail })
      this.#kick()
    })
  }

  /** As `settled`, but only for so much real time. Returns whether that was enough. */
  settledWithin(realMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), realMs)
      const end = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      this.settled().then(end, end)
    })
  }

  /** Moves time forward, and runs everything that falls due on the way. */
  advance(ms: number): Promise<void> {
    if (this.#advance !== undefined) {
      return Promise.reject(
        new Error('advance: time is being moved already; await that call first'),
      )
    }
    return new Promise((done, fail) => {
      this.#advance = { targetMs: this.#nowMs + ms, done, fail }
      this.#kick()
    })
  }

  /** Waits for a time of this clock, for code that runs. Other code may go on meanwhile. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    const resume = runningCode.getStore()?.pause()
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => (): void => {
        timer.cancel()
        signal.removeEventListener('abort', abort)
        resume?.()
        settle()
      }
      const timer = this.after(ms, () => end(resolve)())
      const abort = end(() => reject(signal.reason as Error))
      signal.addEventListener('abort', abort)
      if (signal.aborted) abort()
    })
  }

  /** Something was written that those who poll may want to know. */
  wrote(): void {
    this.#hasPolled = this.#looks >= MAX_LOOKS
  }

  /** The test did something, code of the user has ended, or time has passed. */
  progressed(): void {
    this.#looks = 0
    this.#hasPolled = false
  }

  /** Stops for good, and rejects pending calls of `advance` and `settled`. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#stuck)
    for (const { fail } of this.#takeCallers()) fail(new Error(CLOSED))
  }

  after(ms: number, fire: () => void, kind?: TimerKind): Timer {
    const scheduled: Scheduled = { fire, setAtMs: this.#nowMs }
    // Whole milliseconds, as of real timers: the date that a store writes has no fractions.
    const atMs = this.#nowMs + Math.ceil(Math.max(0, ms))
    if (kind === 'poll') {
      this.#polls.set(scheduled, atMs)
      this.#kick()
      return { cancel: () => void this.#polls.delete(scheduled) }
    }
    const timers = kind === 'interval' ? this.#intervals : this.#timers
    timers.set(scheduled, atMs)
    this.#kick()
    return { cancel: () => void timers.delete(scheduled) }
  }

  hold(by: number): void {
    this.#holds += by
    this.#kick()
  }

  awaited(wait: ClockWait): () => void {
    const resume = runningCode.getStore()?.pause()
    this.#waits.add(wait)
    this.progressed()
    this.#kick()
    return () => {
      this.#waits.delete(wait)
      resume?.()
      this.#kick()
    }
  }

  #kick(): void {
    clearTimeout(this.#stuck)
    this.#stuck = undefined
    this.#calm = 0
    this.#again()
  }

  #again(): void {
    if (this.#isScheduled || this.#isClosed) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      if (!this.#isClosed) this.#round()
    })
  }

  #round(): void {
    const due = this.#takeDue()
    if (due !== undefined) {
      if (due.setAtMs === this.#nowMs && ++this.#firedNow > MAX_PER_INSTANT) return this.#spins()
      this.#calm = 0
      due.fire()
      return this.#again()
    }
    if (this.#holds > 0 || !this.#isWanted()) return
    if (++this.#calm < CALM_ROUNDS) return this.#again()
    this.#calm = 0
    if (!this.#hasPolled) {
      this.#hasPolled = true
      this.#looks++
      this.#poll()
      return this.#again()
    }
    this.#atRest()
  }

  /** Whether anybody wants to know that nothing runs. */
  #isWanted(): boolean {
    return this.#settling.length > 0 || this.#advance !== undefined || this.#waits.size > 0
  }

  #takeDue(): Scheduled | undefined {
    const [timer, interval] = [this.#timers.peek(), this.#intervals.peek()]
    const first =
      (interval?.at ?? Infinity) < (timer?.at ?? Infinity) ? this.#intervals : this.#timers
    if ((first.peek()?.at ?? Infinity) > this.#nowMs) return this.#takeDuePoll()
    return first.pop()!.key
  }

  #takeDuePoll(): Scheduled | undefined {
    for (const [poll, atMs] of this.#polls) {
      if (atMs > this.#nowMs) continue
      this.#polls.delete(poll)
      return poll
    }
    return undefined
  }

  /** Everything that polls looks now. */
  #poll(): void {
    const polls = [...this.#polls.keys()]
    this.#polls.clear()
    for (const { fire } of polls) fire()
    this.#host.look()
  }

  /** Nothing runs, and everything was looked for. */
  #atRest(): void {
    const settling = this.#settling.splice(0)
    if (settling.length > 0) {
      for (const { done } of settling) done()
      return this.#again()
    }
    const next = this.#timers.peek()?.at
    if (this.#advance !== undefined) {
      const { targetMs, done } = this.#advance
      if (this.#nowMs < targetMs) return this.#moveTo(Math.min(next ?? Infinity, targetMs))
      this.#advance = undefined
      done()
      return this.#again()
    }
    if (this.isAuto && next !== undefined && next <= MAX_MS) return this.#moveTo(next)
    const isLate = next !== undefined
    this.#stuck ??= setTimeout(() => this.#host.stuck([...this.#waits], isLate), STUCK_MS)
  }

  #moveTo(ms: number): void {
    this.#nowMs = ms
    this.#firedNow = 0
    this.progressed()
    this.#again()
  }

  #spins(): void {
    const error = new Error(
      `${MAX_PER_INSTANT} timers were set at ${new Date(this.dateMs()).toISOString()} for that instant, ` +
        'and time does not advance; something loops without waiting',
    )
    for (const { fail } of this.#takeCallers()) fail(error)
    for (const wait of this.#waits) wait.fail(error)
  }

  /** The callers of `settled` and `advance`, which are forgotten. */
  #takeCallers(): readonly Waiter[] {
    const callers: Waiter[] = this.#settling.splice(0)
    if (this.#advance !== undefined) callers.push(this.#advance)
    this.#advance = undefined
    return callers
  }
}

/**
 * A clock of one process. When that crashes, its timers are gone, and its code counts no more. While it is
 * frozen, no timer fires, and it does not notice that time passes, as on a machine that is suspended; only
 * the calendar shows it afterwards.
 */
export class ClockView implements Clock {
  readonly #clock: TestClock
  #holds = 0
  #isDead = false
  #frozenAtMs: number | undefined
  #lostMs = 0
  #late: (() => void)[] = []

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  now(): number {
    return (this.#frozenAtMs ?? this.#clock.now()) - this.#lostMs
  }

  date(): Date {
    return new Date(this.#clock.dateMs())
  }

  after(ms: number, fire: () => void, kind?: TimerKind): Timer {
    if (this.#isDead) return { cancel() {} }
    let isCancelled = false
    const fireUnlessOver = (): void => {
      if (this.#isDead || isCancelled) return
      if (this.#frozenAtMs === undefined) fire()
      else this.#late.push(fireUnlessOver)
    }
    const timer = this.#clock.after(ms, fireUnlessOver, kind)
    return {
      cancel() {
        isCancelled = true
        timer.cancel()
      },
    }
  }

  /** The process does nothing, until `thaw`. */
  freeze(): void {
    this.#frozenAtMs ??= this.#clock.now()
  }

  /** It goes on: timers that were due meanwhile fire now. */
  thaw(): void {
    if (this.#frozenAtMs === undefined) return
    this.#lostMs += this.#clock.now() - this.#frozenAtMs
    this.#frozenAtMs = undefined
    for (const fire of this.#late.splice(0)) fire()
  }

  yield(): Promise<void> {
    this.hold(1)
    return new Promise((resolve) =>
      setImmediate(() => {
        this.hold(-1)
        resolve()
      }),
    )
  }

  running<T>(code: () => T): T {
    const running = new RunningCode(this)
    const end = (): void => running.end()
    try {
      const result = runningCode.run(running, code)
      if (!(result instanceof Promise)) {
        end()
        return result
      }
      result.then(end, end)
      return result
    } catch (error) {
      end()
      throw error
    }
  }

  awaited(wait: ClockWait): () => void {
    return this.#clock.awaited(wait)
  }

  /** Code of the user has ended. */
  progressed(): void {
    this.#clock.progressed()
  }

  /** A call of the store begins, or ends. */
  hold(by: 1 | -1): void {
    if (this.#isDead) return
    this.#holds += by
    this.#clock.hold(by)
  }

  /** A call of the store waits for a time of this clock, which passes meanwhile. */
  async pauseFor(wait: Promise<void>): Promise<void> {
    // The call may have been made by code of the user, such as a transaction.
    const resume = runningCode.getStore()?.pause()
    this.hold(-1)
    await wait
    this.hold(1)
    resume?.()
  }

  /** The process ends. */
  kill(): void {
    if (this.#isDead) return
    this.#clock.hold(-this.#holds)
    this.#holds = 0
    this.#isDead = true
  }
}
