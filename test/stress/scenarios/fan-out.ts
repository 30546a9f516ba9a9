// Instances that each run some activities side by side: what the published figures of others are of.

import { setTimeout as pass } from 'node:timers/promises'

import { activity, type Store, workflow } from '../../../src/index.ts'
import { expectResult, keepRunning } from '../load.ts'
import { judge, type Outcome, perSecond, stretch } from '../outcome.ts'
import { type Result, type Scenario, type Size, withRuntime } from '../scenario.ts'

/** A load of this kind. */
interface FanOut {
  readonly concurrent: number
  readonly seconds: number
  /** Activities of an instance, and how long each takes. */
  readonly activities: number
  readonly activityMs: number
  /** How many activities may run at once. */
  readonly slots: number
}

const SMOKE = { concurrent: 4, seconds: 0.15 }
const LONGEST_WAIT = '60s'
// Of what the slots allow. The rest is for the machine, which may be busy with something else.
const LEAST_SHARE = 0.25

const DEFAULT: FanOut = { concurrent: 20, seconds: 10, activities: 5, activityMs: 10, slots: 2 }

async function play(store: Store, load: FanOut, size: Size): Promise<Outcome> {
  const { activities, activityMs, slots } = load
  const { concurrent, seconds } = size === 'smoke' ? SMOKE : load
  let ran = 0
  const work = activity('work', async (number: number) => {
    ran++
    await pass(activityMs)
    return number
  })
  const fanOut = workflow('fan-out', async (_: undefined, ctx) => {
    const numbers = Array.from({ length: activities }, (_one, i) => i + 1)
    const done = await ctx.all(numbers.map((number) => ctx.run(work, number)))
    return done.reduce((sum, number) => sum + number, 0)
  })
  const options = { register: fanOut, concurrency: { activities: slots } }
  const outcome = await withRuntime(store, options, (runtime) =>
    keepRunning({ concurrent, ms: seconds * 1_000 }, async () => {
      const sum = await runtime.run(fanOut, undefined, { timeout: LONGEST_WAIT })
      expectResult(sum, (activities * (activities + 1)) / 2)
    }),
  )
  return { ...outcome, activities: ran }
}

/** All complete, each activity once, and at least a quarter as fast as the slots allow. */
function judgeFanOut(outcome: Outcome, load: FanOut, size: Size): string[] {
  const { slots, activities, activityMs } = load
  const ceiling = (slots * 1_000) / activityMs / activities
  return judge(outcome, {
    activities: outcome.tookMs.length * activities,
    ...(size === 'full' && { leastPerSecond: ceiling * LEAST_SHARE }),
  })
}

function scenarioOf(name: string, load: FanOut): Scenario {
  return {
    name,
    what: wordsFor(load),
    async play({ store }, size) {
      const outcome = await play(store, load, size)
      return [{ outcome, findings: judgeFanOut(outcome, load, size) }]
    },
  }
}

function wordsFor({ concurrent, seconds, activities, activityMs, slots }: FanOut): string {
  return (
    `${concurrent} in flight for ${seconds} s, ${activities} activities of ${activityMs} ms each, ` +
    `${slots} at a time`
  )
}

/** The default of the contract, and its light, standard and high variants. */
export const FAN_OUTS: readonly Scenario[] = [
  scenarioOf('parallel', DEFAULT),
  scenarioOf('light', { ...DEFAULT, concurrent: 10, seconds: 5, activities: 3, activityMs: 5 }),
  scenarioOf('high-concurrency', {
    ...DEFAULT,
    concurrent: 50,
    seconds: 30,
    activities: 10,
    slots: 4,
  }),
]

const CROWDED: FanOut = { ...DEFAULT, concurrent: 30, slots: 4 }

/** More work than connections. */
export const POOL_LIMITS: Scenario = {
  name: 'pool-limits',
  what: `${wordsFor(CROWDED)}, through a pool of very few connections`,
  async play({ smallPool }, size) {
    if (smallPool === undefined) return { skipped: 'this store has no pool' }
    const outcome = await play(smallPool, CROWDED, size)
    return [{ outcome, findings: judgeFanOut(outcome, CROWDED, size) }]
  },
}

/** What more slots bring. */
export const SLOTS: Scenario = {
  name: 'slots',
  what: `${wordsFor(DEFAULT)}, then with 1, 4 and 8; each has to be faster than fewer`,
  async play({ store }, size) {
    const results: Result[] = []
    let before = 0
    for (const slots of [1, 2, 4, 8]) {
      const load = { ...DEFAULT, slots }
      const outcome = await play(store, load, size)
      const findings = judgeFanOut(outcome, load, size)
      const rate = perSecond(outcome)
      if (size === 'full' && rate < before * 1.2) {
        findings.push(`${rate.toFixed(1)} instances/s, with fewer slots ${before.toFixed(1)}`)
      }
      before = rate
      results.push({ part: `${slots}`, outcome, findings })
    }
    return results
  },
}

const LONG: FanOut = { ...DEFAULT, seconds: 300 }
// A machine has other things to do for a while; a leak shows as more than this.
const STEADY_SHARE = 0.8

/** Whether it stays as fast as it began. */
export const STABILITY: Scenario = {
  name: 'stability',
  isLong: true,
  what: `${wordsFor(LONG)}; the last fifth as fast as the first`,
  async play({ store }, size) {
    const outcome = await play(store, LONG, size)
    const [first, last] = [stretch(outcome, 0, 0.2), stretch(outcome, 0.8, 1)]
    const findings = judgeFanOut(outcome, LONG, size)
    if (size === 'full' && perSecond(last) < perSecond(first) * STEADY_SHARE) {
      findings.push(
        `${perSecond(last).toFixed(1)} instances/s in the last fifth, ` +
          `${perSecond(first).toFixed(1)} in the first`,
      )
    }
    return [
      { outcome, findings },
      { part: 'first fifth', outcome: first, findings: [] },
      { part: 'last fifth', outcome: last, findings: [] },
    ]
  },
}
