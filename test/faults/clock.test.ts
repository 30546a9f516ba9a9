import { describe, expect, test, vi } from 'vitest'

import { connect, open, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { type Skew, skewClock } from '../../src/testing/index.ts'
import { eventually } from '../support/engine.ts'
import { testSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'
import { names, stoppedLoops, voyages } from './voyages.ts'

vi.setConfig({ testTimeout: 60_000 })

describe('the calendar of a process', () => {
  test('it is off by the requested amount, and right again at the end', () => {
    const nowMs = Date.now()
    {
      using clock = skewClock({ ahead: '1h' })
      expect(Date.now() - nowMs).toBeGreaterThanOrEqual(3_600_000)
      expect(new Date().getTime() - nowMs).toBeGreaterThanOrEqual(3_600_000)
      expect(new Date()).toBeInstanceOf(Date)
      expect(new Date(7).getTime()).toBe(7)
      expect(Date.UTC(1970, 0)).toBe(0)
      clock.set({ behind: '1h' })
      expect(Date.now() - nowMs).toBeLessThan(-3_500_000)
    }
    expect(Math.abs(Date.now() - nowMs)).toBeLessThan(3_500_000)
  })

  test('invalid arguments are refused', () => {
    expect(() => skewClock({})).toThrow('skewClock: give either ahead or behind')
    expect(() => skewClock({ ahead: 1, behind: 1 })).toThrow('either ahead or behind')
    expect(() => skewClock({ ahaed: 1 } as object)).toThrow('did you mean "ahead"?')
  })
})

describe('the clock of the database', () => {
  test('set back by ten minutes, it stops no timer, no lease and no takeover', async () => {
    const naps = workflow('naps', async (ms: number, ctx) => {
      const begunMs = ctx.now().getTime()
      await ctx.sleep(ms)
      return ctx.now().getTime() - begunMs
    })
    await using database = await testSchema('clock')
    const { url, schema } = database
    await using holdfast = await open(postgres({ url, schema }), {
      register: naps,
      log: memoryLog(),
      lease: '1500ms',
    })
    // One is released while it sleeps, and one stays in memory.
    const long = await holdfast.start(naps, 5_100)
    const short = await holdfast.start(naps, 1_500)
    await database.query(
      `insert into runtimes (runtime, state, lease_until, registered_at, info)
      values (1, 1, now_ms() + 3000, now_ms(), 'dead')`,
    )
    await eventually(() => database.query('select 1 from clock_kept where last_value > 0'))

    await database.query(
      `create or replace function wall_ms() returns bigint language sql volatile as
      'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint - 600000'`,
    )
    const later = await holdfast.run(naps, 100, { timeout: '20s' })

    expect(later).toBeLessThan(10_000)
    await eventually(() => database.query('select 1 from runtimes where runtime = 1 and state = 2'))
    expect(await short.result({ timeout: '20s' })).toBeLessThan(20_000)
    expect(await long.result({ timeout: '30s' })).toBeLessThan(30_000)

    // Once set right again, it continues as well, and by no more than what has passed.
    await database.query(
      `create or replace function wall_ms() returns bigint language sql volatile as
      'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint'`,
    )
    for (let n = 0; n < 3; n++)
      expect(await holdfast.run(naps, 300, { timeout: '20s' })).toBeLessThan(15_000)
    expect(stoppedLoops(holdfast)).toEqual([])
    const [row] = await database.query<{ dead: number }>(
      'select count(*)::int as dead from runtimes where state = 2',
    )
    expect(row!.dead).toBe(1)
  })
})

describe('workflows in a process whose calendar is wrong', () => {
  test.each<[string, Skew]>([
    ['an hour ahead', { ahead: '1h' }],
    ['an hour behind', { behind: '1h' }],
  ])('%s: all fires at its time by the clock of the database', async (_name, skew) => {
    const { register, sail, check } = voyages()
    // The second one is released while it sleeps, and found by the store when it is due.
    const naps = workflow('naps', async (_: undefined, ctx) => {
      const begunMs = ctx.now().getTime()
      await ctx.sleep('300ms')
      const shortMs = ctx.now().getTime() - begunMs
      await ctx.sleep('5100ms')
      return [shortMs, ctx.now().getTime() - begunMs - shortMs] as const
    })
    await using database = await testSchema('clock')
    const { url, schema } = database
    using clock = skewClock(skew)
    await using holdfast = await open(postgres({ url, schema }), {
      register: [register, naps],
      log: memoryLog(),
    })
    const ids = names(5)

    const [[short, long]] = await Promise.all([holdfast.run(naps), sail(holdfast, ids)])

    expect(short).toBeGreaterThanOrEqual(300)
    expect(short).toBeLessThan(30_000)
    expect(long).toBeGreaterThanOrEqual(5_100)
    expect(long).toBeLessThan(30_000)
    await check(holdfast, ids)
    clock[Symbol.dispose]()
    const [row] = await database.query<{ off: number }>(
      `select max(abs(at - extract(epoch from now()) * 1000))::float8 as off from history`,
    )
    expect(row!.off).toBeLessThan(60_000)
  })

  test('a calendar that jumps back and forth while they run', async () => {
    const made = voyages()
    await using database = await testSchema('clock')
    const { url, schema } = database
    using clock = skewClock({ ahead: 0 })
    let jumps = 0
    made.onRun = () => clock.set(++jumps % 2 === 0 ? { behind: '2h' } : { ahead: '3h' })
    await using holdfast = await open(postgres({ url, schema }), {
      register: made.register,
      log: memoryLog(),
    })
    const ids = names(10)

    await made.sail(holdfast, ids)

    expect(jumps).toBe(30)
    await made.check(holdfast, ids)
    expect(stoppedLoops(holdfast)).toEqual([])
  })

  test.each<[string, Skew]>([
    ['an hour ahead', { ahead: '1h' }],
    ['an hour behind', { behind: '1h' }],
  ])('%s: a client has a workflow started later by the clock of the database', async (_, skew) => {
    const greet = workflow('greet', async (_input: undefined, ctx) => ctx.now().getTime())
    await using database = await testSchema('clock')
    const { url, schema } = database
    await using runtime = await open(postgres({ url, schema }), { register: greet })
    const askedMs = Date.now()
    {
      using clock = skewClock({ ahead: 0 })
      clock.set(skew)
      await using client = connect(postgres({ url, schema }))
      await client.start(greet, undefined, { id: 'later', delay: '1s' })
      const tx = await database.connect()
      await tx.query('begin')
      await client.in(tx).start(greet, undefined, { id: 'in a transaction', delay: '1s' })
      await tx.query('commit')
    }

    for (const id of ['later', 'in a transaction']) {
      const begunMs = await runtime.get(greet, id).result({ timeout: '30s' })
      expect(begunMs - askedMs).toBeGreaterThanOrEqual(1_000)
    }
  })
})
