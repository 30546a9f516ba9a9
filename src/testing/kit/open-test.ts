import { type CodecOption, NO_CODEC, resolveCodec } from '../../base/codec/codec-option.ts'
import { describe } from '../../base/describe.ts'
import { type Logger, logger } from '../../base/log.ts'
import { list, number, oneOf, option, resolveOptions } from '../../base/options.ts'
import {
  DEFAULT_LIMITS,
  LimitGuard,
  type LimitOptions,
  resolveLimits,
} from '../../engine/core/limits.ts'
import { valuesOf } from '../../engine/core/values.ts'
import { type Registrable, registryOf } from '../../engine/define/registry.ts'
import { sqliteSettings } from '../../sqlite/connect/options.ts'
import { CallerThread } from '../../sqlite/thread/caller-thread.ts'
import { SqliteWorkflowStore } from '../../sqlite/workflow-store.ts'
import { ItemWrapper } from '../../store/wrapped-items.ts'
import { WrappedStore } from '../../store/wrapped-store.ts'
import { seeded } from './seeded.ts'
import { type AroundCode, Calls, type Stub } from './stubs.ts'
import { type AroundCall, TestClient, type TestRuntime } from './test-runtime.ts'
import { TestClock } from './test-clock.ts'
import { TestLog } from './test-log.ts'
import { type ObserveProcess, TestProcess, type TestWorld } from './test-process.ts'
import { TestProcesses } from './test-processes.ts'
import { storeFor } from './test-store.ts'
import { setWorkflowDates } from './shifted-date.ts'

/** Options of a test runtime. */
export interface TestOptions {
  /** The workflows and activities to run: definitions, lists, or whole modules. */
  register: Registrable
  /** What runs instead of activities and steps. */
  stubs?: readonly Stub[]
  /**
   * Whether time moves by itself. `auto`: while the test waits for a result and nothing runs, time jumps
   * to the next timer. `manual`: only `advance` moves it.
   *
   * @default 'auto'
   */
  time?: 'auto' | 'manual'
  /** The date that the test begins at. @default 2030-01-01T00:00:00Z */
  start?: Date
  /** Ids, `ctx.random()` and the jitter of retries depend on it alone. @default 1 */
  seed?: number
  /**
   * When workflows are replayed from their history. `always`: before each turn is recorded, so that code
   * that is not deterministic is suspended with a report. `on-crash`: only after a crash.
   *
   * @default 'on-crash'
   */
  replay?: 'always' | 'on-crash'
  /** How to store values, as for `open`. @default text that preserves dates, maps, sets, bigints and bytes */
  codec?: CodecOption
  /** How much instances may store, as for `open`. */
  limits?: LimitOptions
  /** Where log lines go besides `logs`. @default nowhere */
  log?: Logger
}

const START = new Date('2030-01-01T00:00:00Z')

/**
 * Opens a runtime for a test: the engine and the SQLite store of production, in memory, on a clock that
 * skips waiting. Dispose of it, or close it, at the end of the test: that fails if an instance has failed or
 * was suspended and the test has not seen it.
 *
 * @example
 * await using t = await openTest({ register: approve })
 * const approval = await t.start(approve, order)
 * await t.advance('3d')
 * assert.equal(await approval.result(), 'expired')
 */
export async function openTest(options: TestOptions): Promise<TestRuntime> {
  return openObserved('openTest', options)
}

/** What tests with faults see of a test runtime, and where they disturb it. */
export interface Observation {
  readonly observe?: ObserveProcess
  readonly onTurn?: TestWorld['onTurn']
  readonly aroundCode?: AroundCode
  readonly aroundCall?: AroundCall
  /** Called before any process is open. */
  readonly attach?: (clock: TestClock, processes: TestProcesses) => void
  /** How many processes run workflows. @default 1 */
  readonly runtimes?: number
  /** After how much real time a call of the test says what takes so long. */
  readonly patienceMs?: number
}

/** The same, for tests that disturb it at chosen points. */
export async function openObserved(
  owner: string,
  options: TestOptions,
  { observe, onTurn, aroundCode, aroundCall, attach, runtimes = 1, patienceMs }: Observation = {},
): Promise<TestClient> {
  if ((options as { kind?: unknown } | undefined)?.kind !== undefined) {
    throw new TypeError(`${owner}: needs options, got a definition: pass it as { register }`)
  }
  const given = resolveOptions(owner, options, TEST_OPTIONS)
  if (given.register === undefined) {
    throw new TypeError(`${owner}: register is missing: list the workflows and activities to run`)
  }
  let client: TestClient | undefined
  const processes = new TestProcesses((index) => new TestProcess(world, index, observe))
  const clock = new TestClock(given.start, given.time === 'auto', {
    look: () => processes.look(),
    stuck: (waits, isLate) => void client?.stuck(waits, isLate),
  })
  const log = new TestLog(given.log, (problem) => client?.problem(problem))
  const calls = new Calls(given.stubs, (ms, signal) => clock.sleep(ms, signal), aroundCode)
  const registry = calls.over(
    registryOf(given.register, undefined, (data, message) => log.warn(data, message), owner),
  )
  const thread = new CallerThread(sqliteSettings({ path: ':memory:' }), () => clock.dateMs())
  const { chain } = given.codec
  const guard = new LimitGuard(given.limits, log, () => clock.now())
  const world: TestWorld = {
    thread,
    clock,
    registry,
    values: valuesOf(given.codec.codec, guard),
    guard,
    chain,
    makeStore() {
      const store = new SqliteWorkflowStore(thread, async () => {})
      return chain === undefined ? store : new WrappedStore(store, new ItemWrapper(chain))
    },
    log,
    seeded: seeded(given.seed, () => clock.dateMs()),
    replaysTurns: given.replay === 'always',
    onTurn,
  }
  const restoreDate = setWorkflowDates()
  attach?.(clock, processes)
  await processes.open(runtimes)
  const view = clock.view()
  const store = storeFor(world.makeStore(), {
    clock,
    view,
    isDead: () => false,
    isTest: true,
  })
  client = new TestClient(
    {
      store,
      values: world.values,
      chain,
      clock: Object.assign(view, {
        awaited: (wait: Parameters<TestClient['waitBegan']>[0]) => {
          const ended = [clock.awaited(wait), client!.waitBegan(wait)]
          return () => ended.forEach((end) => end())
        },
      }),
      log,
      newUuid: world.seeded.newUuid,
      runtime: undefined,
      registry,
    },
    {
      clock,
      calls,
      log,
      database: thread.shared.database.connection,
      processes,
      aroundCall,
      patienceMs,
      async closeStore() {
        restoreDate()
        await thread.close()
      },
    },
  )
  return client
}

/** The options of a test runtime, with their defaults. */
export const TEST_OPTIONS = {
  register: option((value) => value as Registrable, undefined),
  stubs: list<Stub>((value) => value as Stub),
  time: oneOf(['auto', 'manual'], 'auto'),
  start: option(validDate, START),
  seed: number({ integer: true }, 1),
  replay: oneOf(['always', 'on-crash'], 'on-crash'),
  codec: option(resolveCodec, NO_CODEC),
  limits: option(resolveLimits, DEFAULT_LIMITS),
  log: option(logger, undefined),
}

function validDate(value: unknown, what: string): Date {
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value
  throw new TypeError(`${what} must be a valid Date, got ${describe(value)}`)
}
