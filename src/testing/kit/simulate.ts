import { describe } from '../../base/describe.ts'
import { list, number, oneOf, option, resolveOptions, unknownName } from '../../base/options.ts'
import { seededRandom } from '../../engine/context/random.ts'
import { FaultInjector } from './fault-injector.ts'
import { drawFaults, type Fault, FAULT_KINDS, type FaultKind, shrink } from './fault-plan.ts'
import { openObserved, TEST_OPTIONS, type TestOptions } from './open-test.ts'
import type { TestClient, TestRuntime } from './test-runtime.ts'

/** Options of `simulate`. */
export interface SimulateOptions extends Omit<TestOptions, 'time' | 'seed'> {
  /** How many runs with faults there are. @default 100 */
  runs?: number
  /** The seed of the first run; each further run has the next one. @default 1 */
  seed?: number
  /** How many processes run the workflows. @default 2 */
  runtimes?: number
  /** What may go wrong. @default everything */
  faults?: readonly FaultKind[]
  /**
   * What happens: starts workflows, sends messages, waits for results. It is a process of its own, which
   * has no faults. What runs must not share, such as a fake bank, is made anew at its beginning.
   */
  scenario: (client: TestRuntime) => Promise<unknown>
  /** Throws if something is not as it should be. It is called after each run, when all faults are over. */
  check?: (client: TestRuntime) => void | Promise<void>
}

/** What `simulate` tried. */
export interface SimulationReport {
  /** How many runs with faults there were. */
  readonly runs: number
  /** How many faults struck in all of them. */
  readonly faults: number
}

/**
 * Runs a scenario once without faults, then many times with faults that a seed decides: processes crash,
 * freeze and wake up too late, notifications are lost, calls of the scenario arrive twice, answers are
 * late, and processes overtake each other. Throws at the first run that fails, and names its seed and the
 * faults without which it would not have failed. The same seed always leads to the same run.
 *
 * @example
 * let bank = new FakeBank()
 * await simulate({
 *   register: checkout,
 *   stubs: [stub(charge, (order, ctx) => bank.charge(order, ctx.idempotencyKey))],
 *   scenario: async (client) => {
 *     bank = new FakeBank()
 *     await client.run(checkout, order, { id: 'order-1' })
 *   },
 *   check: () => assert.equal(bank.charges.length, 1),
 * })
 */
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const simulation = resolve(options)
  const { runs, seed: firstSeed } = simulation
  const undisturbed = await attempt(simulation, undefined, [])
  if ('error' in undisturbed) {
    throw failure('without faults', undisturbed, '')
  }
  let faults = 0
  for (let run = 1; run <= runs; run++) {
    const seed = firstSeed + run - 1
    const drawn = drawFaults(randomOf(seed, 'faults'), undisturbed.points)
    const outcome = await attempt(simulation, seed, drawn)
    if ('error' in outcome) throw await smallest(simulation, seed, drawn, outcome)
    faults += outcome.struck.length
  }
  return { runs, faults }
}

interface Simulation extends Pick<SimulateOptions, 'scenario' | 'check'> {
  readonly options: TestOptions
  readonly runs: number
  readonly seed: number
  readonly runtimes: number
  readonly faults: readonly FaultKind[]
}

const OWN = ['runs', 'runtimes', 'faults', 'scenario', 'check']
const KNOWN = [...Object.keys(TEST_OPTIONS).filter((name) => name !== 'time'), ...OWN]

function resolve(given: SimulateOptions): Simulation {
  if (typeof given?.scenario !== 'function') {
    throw new TypeError(
      `simulate: scenario must be a function of the client, got ${describe(given?.scenario)}`,
    )
  }
  if (given.check !== undefined && typeof given.check !== 'function') {
    throw new TypeError(`simulate: check must be a function, got ${describe(given.check)}`)
  }
  const { runs, seed, runtimes, faults, scenario, check, ...options } = given
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name))
  if (unknown !== undefined) throw unknownName('simulate', 'option', unknown, KNOWN)
  const counts = resolveOptions(
    'simulate',
    { runs, seed, runtimes, faults },
    {
      runs: number({ min: 1, integer: true }, 100),
      seed: number({ integer: true }, 1),
      runtimes: number({ min: 1, max: 20, integer: true }, 2),
      faults: option(list(oneOf(FAULT_KINDS, 'crash').check).check, FAULT_KINDS),
    },
  )
  return { ...counts, options, scenario, ...(check && { check }) }
}

interface Seen {
  readonly points: number
  readonly struck: readonly string[]
  readonly trace: readonly string[]
}

type Outcome = Seen | Failed

interface Failed extends Seen {
  readonly error: unknown
}

/** One run. Without a seed, processes do not overtake each other. */
async function attempt(
  { options, scenario, check, runtimes, faults: kinds }: Simulation,
  seed: number | undefined,
  faults: readonly Fault[],
): Promise<Outcome> {
  const order = seed === undefined ? undefined : randomOf(seed, 'order')
  const injector = new FaultInjector(faults, kinds, order)
  const { observe, aroundCode, aroundCall, attach, onTurn } = injector
  const seen = (): Seen => ({
    points: injector.points,
    struck: injector.struck,
    trace: injector.trace,
  })
  const observation = { observe, aroundCode, aroundCall, attach, onTurn, runtimes }
  let client: TestClient | undefined
  try {
    client = await openObserved('simulate', { ...options, seed: seed ?? 1 }, observation)
    client.ignoresUnused = seed !== undefined
    await scenario(client)
    await client.advance(injector.remainingMs)
    await client.settle()
    await check?.(client)
    await client.close()
    return seen()
  } catch (error) {
    await client?.close().catch(() => {})
    return { ...seen(), error }
  }
}

/** The error of a run, with as few faults as possible. */
async function smallest(
  simulation: Simulation,
  seed: number,
  drawn: readonly Fault[],
  failed: Failed,
): Promise<Error> {
  const fails = async (faults: readonly Fault[]): Promise<Failed | undefined> => {
    const outcome = await attempt(simulation, seed, faults)
    return 'error' in outcome ? outcome : undefined
  }
  const again = await fails(drawn)
  if (again === undefined) {
    const changing =
      '\nThe same faults did not fail a second time: the scenario depends on something that the seed ' +
      'does not decide, such as real time, Math.random() or what an earlier run left behind.'
    return failure(`with seed ${seed}`, failed, changing)
  }
  const found = await shrink(drawn, again, fails)
  const order =
    found.struck.length > 0
      ? ''
      : '\nNo fault is needed to reproduce it, only the order in which the runtimes work.'
  const hint = `${order}\nTo see it again: simulate({ …, seed: ${seed}, runs: 1 })`
  return failure(`with seed ${seed}`, found, hint)
}

function randomOf(seed: number, use: 'faults' | 'order'): ReturnType<typeof seededRandom> {
  const part = (seed >>> 0).toString(16).padStart(8, '0')
  return seededRandom(`${part}${use === 'faults' ? 'fa'.repeat(4) : 'e0'.repeat(4)}`.repeat(2))
}

const MAX_SHOWN = 40

function failure(where: string, { error, struck, trace }: Failed, hint: string): Error {
  const message = error instanceof Error ? error.message : String(error)
  const faults = struck.map((fault, i) => `\n  ${i + 1}. ${fault}`).join('')
  const which = faults === '' ? '' : `\nFaults needed to reproduce it:${faults}`
  const shown = trace.slice(0, MAX_SHOWN).map((line) => `\n  ${line}`)
  const more = trace.length > MAX_SHOWN ? `\n  … ${trace.length - MAX_SHOWN} more` : ''
  return new Error(
    `simulate: ${where}: ${message}${which}${hint}\nWhat happened:${shown.join('')}${more}`,
    { cause: error },
  )
}
