// LIMIT: starts over many keys, each of which may run two at a time, on both stores, beside partitioned
// queues of DBOS: `npm run bench -- limit`. Timed from the first start until the last one has ended; a
// checker counts how many of a key ran at once.

import { type Limit, workflow } from '../build/index.js'
import { installDbosLimit, type LimitPlan } from './dbos-limit.ts'
import { type EngineOptions, onFresh } from './engine.ts'
import { median, rounded } from './figures.ts'
import { type Place, postgresPlace, sqlitePlace, withRuntime } from './holdfast.ts'
import type { Row } from './table.ts'

const FULL: LimitPlan = { starts: 10_000, keys: 100, concurrency: 2, inFlight: 200 }
const SMOKE: LimitPlan = { starts: 40, keys: 4, concurrency: 2, inFlight: 10 }
const ROUNDS = 3

/** DBOS looks at its queues from time to time: as often as pays, and by default, which takes minutes. */
const POLL_MS = 10
const DEFAULT_POLL_MS = 1_000

/** Prints nothing itself; returns the figures and the ratios. */
export async function benchLimit(options: EngineOptions): Promise<Row[]> {
  const plan = options.smoke ? SMOKE : FULL
  const server = await options.server()
  const dbos = options.smoke ? 'it is left out of a smoke run' : installDbosLimit()
  const taken = new Map<string, number[]>()
  const ratios = new Map<string, number[]>()
  for (let round = 0; round < (options.smoke ? 1 : ROUNDS); round++) {
    const onPostgres = await limitedOn(() => postgresPlace(server), plan)
    note(taken, 'PostgreSQL LIMIT', onPostgres)
    note(
      taken,
      'PostgreSQL LIMIT, no limit',
      await limitedOn(() => postgresPlace(server), plan, false),
    )
    note(taken, 'SQLite LIMIT', await limitedOn(() => sqlitePlace(), plan))
    note(taken, 'SQLite LIMIT, no limit', await limitedOn(() => sqlitePlace(), plan, false))
    if (typeof dbos === 'string') continue
    for (const pollMs of round === 0 ? [DEFAULT_POLL_MS, POLL_MS] : [POLL_MS]) {
      const rate = await dbos.load(server, { ...plan, pollMs })
      note(taken, `DBOS LIMIT, polls every ${pollMs} ms`, rate)
      note(ratios, `PostgreSQL LIMIT beside DBOS, polls every ${pollMs} ms`, onPostgres / rate)
    }
  }
  return [
    ...[...taken].map(([what, rates]) => ({
      what: `${what}: workflows/s`,
      value: rounded(median(rates)),
    })),
    ...(typeof dbos === 'string'
      ? [{ what: 'DBOS LIMIT: skipped', value: dbos }]
      : [...ratios].map(([what, all]) => ({
          what: `${what}: ratio`,
          value: `${median(all).toFixed(1)} (DBOS ${dbos.version})`,
        }))),
  ]
}

/** Workflows per second, from the first start to the last end. */
async function limitedOn(
  makePlace: () => Promise<Place>,
  plan: LimitPlan,
  isLimited = true,
): Promise<number> {
  return onFresh(makePlace, async (place) => {
    const running = new Map<number, number>()
    let most = 0
    const limit: Limit<number> = {
      concurrency: plan.concurrency,
      key: (n) => `key ${n % plan.keys}`,
    }
    const limited = workflow('limited', isLimited ? { limit } : {}, async (n: number, ctx) => {
      const key = n % plan.keys
      return ctx.step('work', async () => {
        const count = (running.get(key) ?? 0) + 1
        running.set(key, count)
        most = Math.max(most, count)
        await Promise.resolve()
        running.set(key, running.get(key)! - 1)
        return n
      })
    })
    const seconds = await withRuntime(place.store(), limited, async (holdfast) => {
      const beganMs = performance.now()
      let next = 0
      const results: Promise<number>[] = []
      const lane = async (): Promise<void> => {
        while (next < plan.starts) {
          const instance = await holdfast.start(limited, next++)
          results.push(instance.result())
        }
      }
      await Promise.all(Array.from({ length: plan.inFlight }, lane))
      await Promise.all(results)
      return (performance.now() - beganMs) / 1_000
    })
    const { completed } = await place.recorded()
    if (completed !== plan.starts) {
      throw new Error(`LIMIT: ${plan.starts} were started, but ${completed} are recorded`)
    }
    if (isLimited && most > plan.concurrency) {
      throw new Error(`LIMIT: ${most} of a key ran at once, with a limit of ${plan.concurrency}`)
    }
    return plan.starts / seconds
  })
}

function note(into: Map<string, number[]>, what: string, value: number): void {
  into.set(what, [...(into.get(what) ?? []), value])
}
