import { inspect, isDeepStrictEqual } from 'node:util'
import { describe } from '../../base/describe.ts'
import { number, resolveOptions } from '../../base/options.ts'
import { type CrashPoint, crashPoints, Writes } from './crash-points.ts'
import { openObserved, type TestOptions } from './open-test.ts'
import type { TestClient, TestRuntime } from './test-runtime.ts'

/** One run of a scenario: made anew for each run, so that none sees what another did. */
export interface CrashScenario<Result> extends Omit<TestOptions, 'time'> {
  /**
   * What happens: starts workflows, sends messages, waits for results. It is a process of its own, which
   * does not crash. What it returns must be the same whatever crashes.
   */
  readonly scenario: (t: TestRuntime) => Promise<Result>
  /** Throws if something is not as it should be, such as a card that was charged twice. */
  readonly check?: (result: Result, t: TestRuntime) => void | Promise<void>
}

/** Options of `crashEverywhere`. */
export interface CrashOptions {
  /** The most runs with a crash. With more points than that, runs are spread over all of them. @default 500 */
  maxRuns?: number
  /** How many runs are made at the same time: more help if activities wait for something real. @default 1 */
  concurrency?: number
}

/** What `crashEverywhere` tried. */
export interface CrashReport {
  /** How often the scenario writes to the store when nothing crashes. */
  readonly writes: number
  /** How many runs with a crash there were. */
  readonly runs: number
}

/**
 * Runs a scenario once to count what it writes to the store. Then runs it again for each of these writes,
 * once with a crash before and once with a crash after it, and checks each time that the scenario returns the
 * same and that `check` passes. Throws at the first point where that is not so, and names it.
 *
 * @example
 * await crashEverywhere(() => {
 *   const bank = new FakeBank()
 *   return {
 *     register: checkout,
 *     stubs: [stub(charge, (order, ctx) => bank.charge(order, ctx.idempotencyKey))],
 *     scenario: (t) => t.run(checkout, order),
 *     check: () => assert.equal(bank.charges.length, 1),
 *   }
 * })
 */
export async function crashEverywhere<Result>(
  makeRun: () => CrashScenario<Result> | Promise<CrashScenario<Result>>,
  options?: CrashOptions,
): Promise<CrashReport> {
  if (typeof makeRun !== 'function') {
    throw new TypeError(
      `crashEverywhere: needs a function that returns a scenario, got ${describe(makeRun)}`,
    )
  }
  const { maxRuns, concurrency } = resolveOptions('crashEverywhere', options, {
    maxRuns: number({ min: 1, integer: true }, 500),
    concurrency: number({ min: 1, integer: true }, 1),
  })
  const undisturbed = await attempt(makeRun, undefined)
  if ('error' in undisturbed) throw failure('without a crash', undisturbed.error, undisturbed.wrote)
  const { writes } = undisturbed
  const points = crashPoints(writes, maxRuns)
  const waiting = points.values()
  const errors: unknown[] = []
  const runAt = async (point: CrashPoint): Promise<void> => {
    const run = await attempt(makeRun, point)
    const where = `with a crash ${point.when} write ${point.write} of ${writes} (${run.at})`
    if ('error' in run) throw failure(where, run.error, run.wrote)
    if (isDeepStrictEqual(run.result, undisturbed.result)) return
    const [expected, got] = [inspect(undisturbed.result), inspect(run.result)]
    const error = new Error(`the result differs: expected ${expected}, got ${got}`)
    throw failure(where, error, run.wrote)
  }
  const runNext = async (): Promise<void> => {
    for (const point of waiting) {
      await runAt(point).catch((error: unknown) => errors.push(error))
      if (errors.length > 0) return
    }
  }
  await Promise.all(Array.from({ length: concurrency }, runNext))
  if (errors.length > 0) throw errors[0]
  return { writes, runs: points.length }
}

interface Seen {
  readonly writes: number
  /** What was written where it crashed. */
  readonly at: string
  /** What was written, in order, and the crash. */
  readonly wrote: readonly string[]
}

type Attempt<Result> = Seen & ({ readonly result: Result } | { readonly error: unknown })

async function attempt<Result>(
  makeRun: () => CrashScenario<Result> | Promise<CrashScenario<Result>>,
  point: CrashPoint | undefined,
): Promise<Attempt<Result>> {
  const run = await makeRun()
  if (typeof run?.scenario !== 'function') {
    throw new TypeError(
      'crashEverywhere: the function must return { register, scenario }, where scenario is a function of ' +
        `the test runtime, got ${describe(run?.scenario === undefined ? run : run.scenario)}`,
    )
  }
  const { scenario, check, ...options } = run
  let t: TestClient | undefined
  const writes = new Writes(point, () => void t?.crash().catch(() => {}))
  const seen = (): Seen => ({
    writes: writes.count,
    wrote: writes.lines,
    at: point === undefined ? '' : (writes.descriptions[point.write - 1] ?? 'not reached'),
  })
  try {
    t = await openObserved('crashEverywhere', options, {
      observe: () => writes,
      onTurn: writes.onTurn,
    })
    t.ignoresUnused = point !== undefined
    const result = await scenario(t)
    // What runs on may crash as well.
    await t.settle()
    await check?.(result, t)
    await t.close()
    if (point !== undefined && !writes.hasCrashed) {
      throw new Error('this write did not happen: the scenario does not do the same each time')
    }
    return { ...seen(), result }
  } catch (error) {
    await t?.close().catch(() => {})
    return { ...seen(), error }
  }
}

const MAX_SHOWN = 30

function failure(where: string, error: unknown, wrote: readonly string[]): Error {
  const message = error instanceof Error ? error.message : String(error)
  const shown = wrote.slice(0, MAX_SHOWN).map((line) => `\n  ${line}`)
  const more = wrote.length > MAX_SHOWN ? `\n  … ${wrote.length - MAX_SHOWN} more` : ''
  return new Error(`crashEverywhere: ${where}: ${message}\nIt wrote:${shown.join('')}${more}`, {
    cause: error,
  })
}
