import type { ClockWait } from '../../base/time/clock.ts'
import { type Duration, durationMs } from '../../base/time/duration.ts'
import { EngineClient } from '../../engine/client/engine-client.ts'
import type { Activity, Args, ParsingActivity, Workflow } from '../../engine/define/definitions.ts'
import type { Instance, InstanceInfo, StartOptions, Wait } from '../../engine/define/instance.ts'
import type { Runtime, RuntimeHealth } from '../../engine/define/runtime.ts'
import type { ClientSetup } from '../../engine/core/local-runtime.ts'
import type { SqliteDatabase } from '../../sqlite/connect/driver.ts'
import { OwnCalls } from './own-calls.ts'
import { type Call, type CallOf, type Calls, nameOf } from './stubs.ts'
import type { LogLine, Problem, TestLog } from './test-log.ts'
import { isRunningCode, MAX_YEARS, type TestClock } from './test-clock.ts'
import type { TestProcesses } from './test-processes.ts'

/** A runtime for tests, on a store in memory and a clock that skips waiting. */
export interface TestRuntime extends Runtime {
  /**
   * Moves time forward by so much, and runs everything that falls due on the way, in order. Resolves when
   * nothing runs any more.
   */
  advance(by: Duration): Promise<void>
  /**
   * Resolves when nothing runs and nothing is due, without any time passing. Throws if an instance has
   * failed or was suspended, or code was rejected without a handler, and the test has not seen it.
   */
  settle(): Promise<void>
  /**
   * Ends the process that runs the workflows, as `kill -9` does, and continues with another one: what was
   * not recorded runs again. Called in an activity, that activity goes no further.
   */
  crash(): Promise<void>
  /** The time of the test. */
  now(): Date
  /** Every attempt at an activity or a step, in the order they began. */
  readonly calls: readonly Call[]
  /** The attempts at one activity, with its types. Given its name, the types are those that you write. */
  callsOf<I, O, P = I>(activity: ParsingActivity<I, O, P>): readonly CallOf<P, O>[]
  callsOf<I = unknown, O = unknown>(name: string): readonly CallOf<I, O>[]
  /** What was logged. */
  readonly logs: readonly LogLine[]
  /** The database in memory: for tables of your own, and for `in(tx)` after `begin`. */
  readonly database: SqliteDatabase
}

// As they are now: a test that replaces timers later must not stop us.
const { setTimeout, clearTimeout } = globalThis

// After so much real time, a call of the test says what takes so long. Vitest ends a test after 5 s.
const PATIENCE_MS = 3_000
const DAY_MS = 86_400_000
// Time that has not moved for such a part of that stands.
const STANDING_PART = 1 / 6
// At the end of a test, code that still runs has so much real time to fail.
const LAST_TURNS_MS = 100
// Where none runs, the machine is slow.
const LAST_LOOKS = 30

/** The parts of a test runtime. */
export interface TestParts {
  readonly clock: TestClock
  readonly calls: Calls
  readonly log: TestLog
  readonly database: SqliteDatabase
  readonly processes: TestProcesses
  readonly closeStore: () => Promise<void>
  readonly aroundCall?: AroundCall | undefined
  /** After how much real time a call says what takes so long. @default 3000 */
  readonly patienceMs?: number | undefined
}

/** Makes a call of the test, by `perform`, and perhaps makes it once more, by `repeat`. */
export type AroundCall = <T>(
  what: string,
  perform: () => Promise<T>,
  repeat: () => Promise<unknown>,
) => Promise<T>

/** The client of a test, and the processes that run its workflows. */
export class TestClient extends EngineClient implements TestRuntime {
  /** Whether stubs may stay unused. */
  ignoresUnused = false
  readonly #parts: TestParts
  readonly #waits = new Set<ClockWait>()
  readonly #own = new OwnCalls()
  readonly #warned = new Set<string>()
  #closed: Promise<void> | undefined

  constructor(setup: ClientSetup, parts: TestParts) {
    super(setup)
    this.#parts = parts
  }

  get calls(): readonly Call[] {
    return this.#parts.calls.all
  }

  callsOf(activity: Activity<never, unknown> | string): readonly CallOf<never, never>[] {
    return this.#parts.calls.of(nameOf(activity, 'callsOf')) as readonly CallOf<never, never>[]
  }

  get logs(): readonly LogLine[] {
    return this.#parts.log.lines
  }

  get database(): SqliteDatabase {
    return this.#parts.database
  }

  now(): Date {
    return new Date(this.#parts.clock.dateMs())
  }

  override start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): Promise<Instance<O>> {
    const start = async (): Promise<Instance<O>> =>
      this.#watched(await super.start(workflow, ...args))
    return this.#own.track('start()', this.#call(startOf(workflow), start))
  }

  override run<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions & Wait>
  ): Promise<O> {
    const run = (): Promise<O> => super.run(workflow, ...args)
    const repeat = (): Promise<unknown> => {
      const [input, { timeout: _, signal: __, ...options } = {}] = args
      return super.start(workflow, ...([input, options] as Args<NoInfer<I>, StartOptions>))
    }
    return this.#own.track('run()', this.#call(startOf(workflow), run, repeat))
  }

  #call<T>(
    what: string,
    perform: () => Promise<T>,
    repeat: () => Promise<unknown> = perform,
  ): Promise<T> {
    const { aroundCall } = this.#parts
    return aroundCall === undefined ? perform() : aroundCall(what, perform, repeat)
  }

  override get<I, O>(workflow: Workflow<I, O>, id: string): Instance<O>
  override get(id: string): Instance
  override get(...args: [string] | [Workflow<never, unknown>, string]): Instance {
    return this.#watched(args.length === 1 ? super.get(args[0]) : super.get(...args))
  }

  /** A handle that notes what the test has seen of the instance, and what it has not awaited. */
  #watched<O>(instance: Instance<O>): Instance<O> {
    const track = <T>(what: string, promise: Promise<T>): Promise<T> =>
      this.#own.track(what, promise)
    return {
      ...instance,
      result: (options) => track('result()', instance.result(options)),
      send: (channel, data, options) => {
        const send = (): Promise<void> => instance.send(channel, data, options)
        return track('send()', this.#call(`the message on channel "${channel.name}"`, send))
      },
      request: (to, input, options) =>
        track(
          'request()',
          this.#call(`the request "${to.name}"`, () => instance.request(to, input, options)),
        ),
      cancel: (reason) => track('cancel()', instance.cancel(reason)),
      terminate: (reason) => track('terminate()', instance.terminate(reason)),
      suspend: (reason) => track('suspend()', instance.suspend(reason)),
      resume: () => track('resume()', instance.resume()),
      info: () => track('info()', this.#look(instance)),
    }
  }

  async #look(instance: Instance): Promise<InstanceInfo | undefined> {
    const found = await instance.info()
    this.#parts.log.forget(instance.id)
    return found
  }

  advance(by: Duration): Promise<void> {
    return this.#own.track('advance()', this.#advance(by))
  }

  settle(): Promise<void> {
    return this.#own.track('settle()', this.#settle())
  }

  async #advance(by: Duration): Promise<void> {
    this.#checkMayWait('advance')
    const advanced = this.#parts.clock.advance(durationMs(by, 'advance: by'))
    await this.#noted('advance()', advanced, TOO_FAR)
  }

  async #settle(): Promise<void> {
    this.#checkMayWait('settle')
    await this.#noted('settle()', this.#parts.clock.settled(), TOO_BUSY)
    await this.#throwProblems()
  }

  async idle(): Promise<void> {
    this.#checkMayWait('idle')
    await this.#noted('idle()', this.#parts.clock.settled(), TOO_BUSY)
  }

  /** The same promise, which says why if it takes long. */
  async #noted(what: string, promise: Promise<void>, advice: string): Promise<void> {
    const isOver = this.#watch(what, advice)
    await promise.finally(isOver)
  }

  /** Throws if nothing would ever end a wait of the caller for all that runs. */
  #checkMayWait(what: string): void {
    this.#checkOpen(what)
    if (!isRunningCode()) return
    throw new Error(
      `${what}: called by code that the test runtime runs and would wait for; call it in the test, ` +
        'or let time pass with sleep() of the ctx of a stub',
    )
  }

  #checkOpen(what: string): void {
    if (this.#closed === undefined) return
    throw new Error(`${what}: the test runtime is closed; call it before close()`)
  }

  health(): RuntimeHealth {
    return this.#parts.processes.all[0]!.runtime!.health()
  }

  async crash(): Promise<void> {
    this.#checkOpen('crash')
    const { processes } = this.#parts
    const { caller } = processes
    const restarted = processes.crash(caller === undefined ? processes.all : [caller])
    // The process that ran the caller is gone.
    if (caller !== undefined) return new Promise(() => {})
    return this.#own.track('crash()', restarted)
  }

  /** A caller waits, until the result is called. */
  waitBegan(wait: ClockWait): () => void {
    const { log } = this.#parts
    this.#waits.add(wait)
    const { id } = wait
    const suspension = id === undefined ? undefined : log.suspensionOf(id)
    if (suspension !== undefined) queueMicrotask(() => this.problem(suspension))
    const isOver = this.#watch(wait.what, BOUND, id)
    return () => {
      isOver()
      this.#waits.delete(wait)
      if (id !== undefined) log.forget(id)
    }
  }

  /** An instance was suspended: callers that wait for it learn why. */
  problem({ id, report, error, isSuspension }: Problem): void {
    if (!isSuspension) return
    for (const wait of this.#waits) {
      if (wait.id === id) wait.fail(new Error(`${wait.what}: ${report}`, { cause: error }))
    }
  }

  /** Says once why a call takes long, before the runner of the test gives up. Call the result at its end. */
  #watch(what: string, advice: string, id?: string): () => void {
    const { clock, calls, patienceMs = PATIENCE_MS } = this.#parts
    const beganMs = clock.now()
    const say = async (): Promise<void> => {
      const lastMs = clock.now()
      await new Promise((resolve) => (timer = setTimeout(resolve, patienceMs * STANDING_PART)))
      const movedMs = clock.now() - beganMs
      const takes = `${what} has taken ${Math.round(patienceMs / 1_000)} s of real time so far`
      const [running] = calls.running
      if (running !== undefined && clock.now() === lastMs) {
        this.#warn(
          `${takes}: ${running} is still running, and the test clock does not move until it ends`,
        )
      } else if (clock.isAuto || advice !== BOUND) {
        const why = id === undefined ? '' : await this.#explain(id)
        this.#warn(
          `${takes}, in which the time of the test moved by ${inDays(movedMs)}${why}; ${advice}`,
        )
      }
    }
    let timer = setTimeout(() => void say().catch(() => {}), patienceMs)
    return () => clearTimeout(timer)
  }

  /** Nothing runs, and no timer is left that could end these waits. */
  async stuck(waits: readonly ClockWait[], isLate: boolean): Promise<void> {
    const { clock } = this.#parts
    for (const wait of waits) {
      const why = wait.id === undefined ? '' : await this.#explain(wait.id)
      if (!clock.isAuto) {
        this.#warn(`${wait.what} waits, and time is manual: call advance()${why}`)
        continue
      }
      if (isLate) {
        const text = `${wait.what} does not end: time has moved by ${MAX_YEARS} years${why}; ${BOUND}`
        wait.fail(new Error(text))
        continue
      }
      const { calls, log } = this.#parts
      const missing = calls.missing.map(
        (name) => `activity "${name}" has no code here: register it, or stub it`,
      )
      const reports = [...missing, ...log.warnings].map((line) => `\n- ${line}`).join('')
      wait.fail(
        new Error(`${wait.what} will never end: nothing runs and no timer is set${why}${reports}`),
      )
    }
  }

  /** Says it once: the test may still be right, but usually it is not. */
  #warn(text: string): void {
    if (this.#warned.has(text)) return
    this.#warned.add(text)
    // oxlint-disable-next-line no-console -- it must be seen while the test waits, or has failed
    console.warn(text)
  }

  async #explain(id: string): Promise<string> {
    const found = await super.get(id).info()
    if (found === undefined) return '; the instance was never started'
    const { status, waitingFor, error } = found
    if (status === 'suspended') return `; the instance is suspended: ${error?.message}`
    return waitingFor.length === 0 ? '' : `; the instance waits for ${waitingFor.join(', ')}`
  }

  async #throwProblems(forgotten: readonly string[] = []): Promise<void> {
    const problems: Problem[] = []
    for (const problem of this.#parts.log.take()) {
      // What a child fails with is for its parent to handle.
      const isChild = problem.isInResult && !problem.isSuspension && (await this.#isChild(problem))
      if (!isChild) problems.push(problem)
    }
    const lines = [...forgotten, ...problems.map(({ report }) => report)]
    if (lines.length === 0) return
    throw new Error(lines.join('\n'), { cause: problems[0]?.error })
  }

  async #isChild({ id }: Problem): Promise<boolean> {
    if (id === undefined) return false
    const [row] = await this.core.setup.store.find([id])
    return row !== undefined && row.parent !== null && row.parent.onClose !== 'independent'
  }

  override close(): Promise<void> {
    return (this.#closed ??= this.#end())
  }

  async #end(): Promise<void> {
    const { clock, processes, closeStore } = this.#parts
    // First: what is not awaited is rejected by the end.
    const forgotten = this.#own.takeForgotten()
    await processes.opened()
    await this.#takeLastTurns()
    await this.core.endUsers()
    try {
      await this.#throwProblems(forgotten)
      await this.#throwUnused()
    } finally {
      processes.close()
      await super.close()
      clock.close()
      await closeStore()
    }
  }

  async #takeLastTurns(): Promise<void> {
    const { clock, calls } = this.#parts
    for (let i = 0; i < LAST_LOOKS; i++) {
      if ((await clock.settledWithin(LAST_TURNS_MS)) || calls.running.length > 0) return
    }
  }

  async #throwUnused(): Promise<void> {
    const { unused } = this.#parts.calls
    if (unused.length === 0 || this.ignoresUnused) return
    const text = `${unused.join('; ')}. Fix the name, remove the stub, or give it { optional: true }`
    const { items } = await super.list({}, { limit: 1_000 })
    // A test that ends early, most often with a failed assertion, must not end with another error.
    if (items.length === 0) return
    if (items.every(({ status }) => status === 'completed')) throw new Error(text)
    this.#warn(text)
  }
}

const BOUND = 'bound the wait with result({ timeout }), or move time with advance()'
const TOO_FAR =
  'much falls due on the way: advance by less, or let loops and schedules do it less often'
const TOO_BUSY = 'something goes on without waiting: look for a loop without a sleep'

function inDays(ms: number): string {
  const days = ms / DAY_MS
  return days < 1 ? `${ms} ms` : `${Math.round(days)} days`
}

function startOf({ name }: { readonly name: string }): string {
  return `the start of workflow "${name}"`
}
