// What the tests of workers share: a clock, a log, a notifier, and workers that are cleared away.

import { expect } from 'vitest'

import { type Clock, sleep as wait } from '../../src/base/time/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { notify, type Notify } from '../../src/base/sync/notify.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtual-clock.ts'
import { type Directive, sleep } from '../../src/workers/directive.ts'
import type { Listener } from '../../src/workers/listener.ts'
import type { Pacing } from '../../src/workers/pacing.ts'
import { type PassContext, worker, type Worker } from '../../src/workers/worker.ts'
import type { WorkerOptions } from '../../src/workers/worker-options.ts'

/** Passes follow each other without delay. */
export const NO_PACING: Pacing = { min: 0, active: 0, step: 0 }

/** One line of a `MemoryLog`. */
export interface LogLine {
  readonly level: keyof Logger
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A log that keeps its lines. */
export interface MemoryLog extends Logger {
  readonly lines: LogLine[]
  /** The messages of one level. */
  at(level: keyof Logger): string[]
}

/** Makes a log that keeps its lines. */
export function memoryLog(): MemoryLog {
  const lines: LogLine[] = []
  const write = (level: keyof Logger) => (data: object, message?: string) =>
    void lines.push({ level, message: message ?? '', data: { ...data } })
  return {
    lines,
    at: (level) => lines.filter((line) => line.level === level).map((line) => line.message),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}

/** What a scripted pass does once: takes its time, then returns or throws. */
export type Step = Directive<unknown> | Error | { readonly takes: number; readonly ends: Step }

/** A pass that follows a script, and the times at which it was run. */
export interface Script {
  readonly times: number[]
  readonly pass: () => Promise<Directive<unknown>>
}

/** A pass that does these steps, one each time, and then sleeps for a minute each time. */
export function scripted(clock: Clock, steps: readonly Step[]): Script {
  const times: number[] = []
  const follow = async (step: Step): Promise<Directive<unknown>> => {
    if (step instanceof Error) throw step
    if ('next' in step) return step
    await wait(clock, step.takes)
    return follow(step.ends)
  }
  return {
    times,
    pass() {
      times.push(clock.now())
      return follow(steps[times.length - 1] ?? sleep('1m'))
    },
  }
}

/** A listener that writes down its calls, in words. */
export function diary(name = ''): Listener<unknown> & { readonly entries: string[] } {
  const entries: string[] = []
  const write = (entry: string): void => void entries.push(name + entry)
  return {
    entries,
    onStart: () => write('start'),
    onStop: () => write('stop'),
    onExecute: () => write('execute'),
    onComplete: (ms, directive) => write(`complete ${ms} ${directive.next}`),
    onError: (ms, error, failures, backoffMs) =>
      write(`error ${ms} ${(error as Error).message} ${failures} ${backoffMs}`),
    onIdle: () => write('idle'),
    onSleep: (ms) => write(`sleep ${ms}`),
  }
}

/** Workers on virtual time. */
export interface Workers extends AsyncDisposable {
  readonly clock: VirtualClock
  readonly log: MemoryLog
  /** Wakes the workers that are given no `wakeOn` of their own. */
  readonly wake: Notify
  /**
   * Starts a worker. By default `wake` wakes it, and it has no pacing and no backoff, as in the
   * contract's tests.
   */
  start<P = void>(
    name: string,
    options: WorkerOptions<P>,
    pass: (ctx: PassContext) => Promise<Directive<P>>,
  ): Worker
  /** Starts a worker whose passes follow a script; gives it and the times of its passes. */
  play(
    options: WorkerOptions<unknown>,
    ...steps: readonly Step[]
  ): { readonly it: Worker; readonly times: readonly number[] }
  /** Takes on a worker that was made elsewhere. */
  keep<W extends Worker>(made: W): W
  /** Calls `notifyOne` of `wake`, or of another, at these times from now. */
  wakeAt(times: readonly number[], other?: Notify): void
}

/** Opens a world for workers. At its end they are stopped, and nothing may be left behind. */
export function openWorkers(): Workers {
  const clock = virtualClock()
  const log = memoryLog()
  const wake = notify()
  const made: Worker[] = []
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', onRejection)

  const keep = <W extends Worker>(one: W): W => {
    made.push(one)
    return one
  }
  const start: Workers['start'] = (name, options, pass) => {
    const usual = { clock, log, wakeOn: [wake], pacing: NO_PACING, backoff: { initial: 0 } }
    return keep(worker(name, { ...usual, ...options }, pass))
  }
  return {
    clock,
    log,
    wake,
    start,
    keep,
    play(options, ...steps) {
      const { times, pass } = scripted(clock, steps)
      return { it: start('player', options, pass), times }
    },
    wakeAt(times, other = wake) {
      for (const ms of times) clock.after(ms, () => other.notifyOne())
    },
    async [Symbol.asyncDispose]() {
      try {
        await clock.until(Promise.all(made.map((one) => one.stop())))
        // An unhandled rejection is reported when all microtasks have run.
        await new Promise((resolve) => setImmediate(resolve))
      } finally {
        process.off('unhandledRejection', onRejection)
      }
      expect(rejections).toEqual([])
      expect(clock.pending, 'timers left behind').toBe(0)
    },
  }
}

/** A pass that ends when the test says so, and the contexts of its runs. */
export function heldPass(): {
  readonly pass: (ctx: PassContext) => Promise<Directive>
  readonly contexts: PassContext[]
  readonly release: (directive: Directive) => void
  readonly fail: (error: Error) => void
} {
  const contexts: PassContext[] = []
  let running: { resolve: (directive: Directive) => void; reject: (error: Error) => void }
  return {
    contexts,
    pass: (ctx) => {
      contexts.push(ctx)
      return new Promise((resolve, reject) => (running = { resolve, reject }))
    },
    release: (directive) => running.resolve(directive),
    fail: (error) => running.reject(error),
  }
}
