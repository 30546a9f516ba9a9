import { expect, test } from 'vitest'

import { type Runtime, workflow } from '../../src/index.ts'
import { expectedIds, timingOf, TWENTY } from '../support/due-times.ts'
import { connectTo, describeRace, engineOn } from '../support/race.ts'
import type { OpenedStore } from '../support/store-under-test.ts'

// Two runtimes and a client, on connections of their own, and a store whose clock the test sets: hours and
// days pass in seconds. Each due time has to be started exactly once.

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const noted = workflow('noted', async () => 'done')

/** The clock of a store, which a test sets. */
class StoreTime {
  readonly #under: OpenedStore
  /** The latest time that it has shown. */
  latest = 0

  constructor(under: OpenedStore) {
    this.#under = under
  }

  async now(): Promise<number> {
    const now = await this.#under.store.now()
    this.latest = Math.max(this.latest, now)
    return now
  }

  async set(at: string | number): Promise<void> {
    const then = typeof at === 'string' ? Date.parse(at) : at
    await this.#under.advance(then - (await this.#under.store.now()))
    await this.now()
  }

  async pass(ms: number): Promise<void> {
    await this.#under.advance(ms)
    await this.now()
  }
}

/** Longer than any step of the clock: these tests are not about leases. */
const LONG_LEASE = { lease: '30d' } as const

const openTwo = async (under: OpenedStore): Promise<Runtime[]> => [
  await engineOn(await under.another(), noted, LONG_LEASE),
  await engineOn(await under.another(), noted, LONG_LEASE),
]

/** Both look at the same time, as after a tick. */
const allIdle = (runtimes: readonly Runtime[]): Promise<unknown> =>
  Promise.all(runtimes.map((runtime) => runtime.idle({ timeout: '60s' })))

const closeAll = (runtimes: readonly Runtime[]): Promise<unknown> =>
  Promise.all(runtimes.map((runtime) => runtime.close({ drain: 0 })))

/** Ids of all instances, in order. */
async function startedIds(under: OpenedStore): Promise<string[]> {
  const rows = await under.sql<{ id: string }>('select id from instances')
  return rows.map(({ id }) => id).toSorted()
}

const idsAt = (name: string, hours: readonly number[]): string[] =>
  hours.map((hour) => `${name}/2026-05-01T0${hour}:00:00Z`)

describeRace('twenty schedules and two runtimes', (openStore) => {
  test.each([
    ['forward', '2026-03-07T23:00:00Z'],
    ['back', '2026-10-31T23:00:00Z'],
  ])(
    'wall clocks are set %s, the clock jumps, all runtimes are down for hours: each due time is started once',
    async (_, begin) => {
      await using under = await openStore()
      const time = new StoreTime(under)
      await time.set(begin)
      let runtimes = await openTwo(under)
      const client = connectTo(await under.another())
      const created = new Map<string, number>()
      for (const [name, when] of TWENTY) {
        await client.schedule(name, { ...when, overlap: 'allow', catchUp: '4h' }, noted)
        created.set(name, (await client.schedules.get(name))!.createdAt.getTime())
      }

      for (let step = 0; step < 22; step++) {
        await time.pass(35 * MINUTE)
        await allIdle(runtimes)
        // The clock is wrong for a while, once by less than any interval and once by more.
        if (step === 4 || step === 15) {
          await time.pass(step === 4 ? -7 * MINUTE : -50 * MINUTE)
          await allIdle(runtimes)
        }
        // For three hours, no runtime is there.
        if (step === 8) {
          await closeAll(runtimes)
          await time.pass(3 * HOUR)
          runtimes = await openTwo(under)
          await allIdle(runtimes)
        }
      }

      const until = time.latest
      const expected = TWENTY.flatMap(([name, when]) =>
        expectedIds(name, timingOf(when), 0, created.get(name)!, until),
      )
      expect(await startedIds(under)).toEqual(expected.toSorted())
      const infos = await client.schedules.list()
      expect(infos.reduce((sum, { started }) => sum + started, 0)).toBe(expected.length)
      await closeAll(runtimes)
      await client.close()
    },
    120_000,
  )

  test('after an interruption, due times within catchUp are started, in order, and older ones missed', async () => {
    await using under = await openStore()
    const time = new StoreTime(under)
    await time.set('2026-05-01T00:30:00Z')
    const client = connectTo(await under.another())
    const hourly = { cron: '0 * * * *' }
    await client.schedule('all', { ...hourly, overlap: 'allow', catchUp: '1d' }, noted)
    await client.schedule('some', { ...hourly, overlap: 'allow', catchUp: '150m' }, noted)
    await client.schedule('none', { ...hourly, overlap: 'allow', catchUp: 0 }, noted)

    await time.set('2026-05-01T06:15:00Z')
    const runtimes = await openTwo(under)
    await allIdle(runtimes)

    expect(await startedIds(under)).toEqual([
      ...idsAt('all', [1, 2, 3, 4, 5, 6]),
      ...idsAt('some', [4, 5, 6]),
    ])
    const [all, none, some] = await client.schedules.list()
    expect([all, some, none].map((info) => info!.missed.count)).toEqual([0, 3, 6])
    expect(none!.nextRuns[0]).toEqual(new Date('2026-05-01T07:00:00Z'))
    await closeAll(runtimes)
    await client.close()
  }, 60_000)

  test('a clock that is set back repeats nothing, and one that is set forward leaves nothing out', async () => {
    await using under = await openStore()
    const time = new StoreTime(under)
    await time.set('2026-05-01T00:30:00Z')
    const runtimes = await openTwo(under)
    const client = connectTo(await under.another())
    const when = { cron: '*/10 * * * *', overlap: 'allow', catchUp: '1d' } as const
    await client.schedule('often', when, noted)
    const from = (await client.schedules.get('often'))!.createdAt.getTime()

    for (const ms of [25, -20, 15, 45, -50, 30, 9 * 60, -7 * 60, 8 * 60, 90, -30, 60]) {
      await time.pass(ms * MINUTE)
      await allIdle(runtimes)
    }

    const expected = expectedIds('often', timingOf(when), 0, from, time.latest)
    expect(await startedIds(under)).toEqual(expected)
    await closeAll(runtimes)
    await client.close()
  }, 120_000)

  test('a schedule that a wrong clock has moved far ahead goes on from the right time', async () => {
    await using under = await openStore()
    const time = new StoreTime(under)
    const begin = Date.parse('2026-05-01T00:30:00Z')
    await time.set(begin)
    const runtimes = await openTwo(under)
    const client = connectTo(await under.another())
    await client.schedule('hourly', { cron: '0 * * * *', catchUp: 0 }, noted)
    await client.schedule('interval', { every: HOUR, catchUp: 0 }, noted)

    await time.set(begin + 365 * 24 * HOUR)
    await allIdle(runtimes)
    await time.set(begin + 2 * HOUR)
    await allIdle(runtimes)

    const [hourly, interval] = await client.schedules.list()
    expect(hourly!.nextRuns[0]).toEqual(new Date('2026-05-01T03:00:00Z'))
    expect(interval!.nextRuns[0]!.getTime()).toBeGreaterThan(begin + 2 * HOUR)
    expect(interval!.nextRuns[0]!.getTime()).toBeLessThanOrEqual(begin + 3 * HOUR + MINUTE)
    await closeAll(runtimes)
    await client.close()
  }, 60_000)

  test('an hour that is changed takes effect, without an instance at the old one', async () => {
    await using under = await openStore()
    const time = new StoreTime(under)
    await time.set('2026-05-01T08:30:00Z')
    const runtimes = await openTwo(under)
    const client = connectTo(await under.another())
    await client.schedule('report', { cron: '0 9 * * *' }, noted)
    await allIdle(runtimes)

    await client.schedule('report', { cron: '0 10 * * *' }, noted)
    await time.set('2026-05-01T09:30:00Z')
    await allIdle(runtimes)
    const before = await startedIds(under)
    await time.set('2026-05-01T10:00:01Z')
    await allIdle(runtimes)

    expect(before).toEqual([])
    expect(await startedIds(under)).toEqual(['report/2026-05-01T10:00:00Z'])
    await closeAll(runtimes)
    await client.close()
  }, 60_000)
})
