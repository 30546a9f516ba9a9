import { expect, test } from 'vitest'

import { eventually } from '../../../../test/support/engine.ts'
import { openStore, type TestStore } from '../../../../test/support/postgres-store.ts'

const NOON = 1_800_000_000_000
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

test('the clock continues when the clock of the server is turned back, and follows it when that is corrected', async () => {
  await using clocks = await openClocks()
  await clocks.opened.runtime()
  await clocks.set(9 * SECOND)
  expect(await clocks.now()).toBe(9 * SECOND)

  // Nothing was recorded since: the clock is where it was last recorded.
  await clocks.set(10 * SECOND - 10 * MINUTE)
  expect(await clocks.now()).toBe(0)
  await clocks.renew()
  expect(await clocks.now()).toBe(0)
  await clocks.pass(10 * SECOND)
  expect(await clocks.now()).toBe(9 * SECOND)
  await clocks.renew()
  expect(await clocks.now()).toBe(9 * SECOND)

  // Neither before nor after the next renewal is it ahead by the ten minutes.
  await clocks.pass(10 * MINUTE)
  expect(await clocks.now()).toBe(20 * SECOND)
  await clocks.renew()
  expect(await clocks.now()).toBe(20 * SECOND)
  await clocks.pass(10 * SECOND)
  expect(await clocks.now()).toBe(30 * SECOND)
})

test('it is the same before and after every renewal, and goes a tenth more slowly while it is ahead', async () => {
  await using clocks = await openClocks()
  await clocks.opened.runtime()
  await clocks.set(-1 * MINUTE)
  await clocks.renew()

  const ahead: number[] = []
  for (let n = 0; n < 70; n++) {
    await clocks.pass(10 * SECOND)
    const before = await clocks.now()
    await clocks.renew()
    expect(await clocks.now()).toBe(before)
    ahead.push(before - (await clocks.wall()))
  }

  expect(ahead.slice(0, 3)).toEqual([59 * SECOND, 58 * SECOND, 57 * SECOND])
  expect(ahead.slice(58)).toEqual([1 * SECOND, ...Array.from({ length: 11 }, () => 0)])
})

test('a runtime that comes after five minutes without any finds it as the renewals do', async () => {
  await using clocks = await openClocks()
  await clocks.opened.runtime()
  await clocks.set(-10 * MINUTE)
  await clocks.renew()
  await clocks.pass(5 * MINUTE)

  const { clock } = await clocks.opened.runtime()

  expect(clock - NOON).toBe(0)
  await clocks.renew()
  expect(await clocks.now()).toBe(0)
  await clocks.pass(10 * SECOND)
  expect(await clocks.now()).toBe(9 * SECOND)
})

test('it is never more than an hour ahead, also by several steps', async () => {
  await using clocks = await openClocks()
  await clocks.opened.runtime()
  await clocks.set(-40 * MINUTE)
  await clocks.renew()
  expect(await clocks.now()).toBe(0)

  await clocks.set(-80 * MINUTE)
  expect(await clocks.now()).toBe(-80 * MINUTE)
  await clocks.renew()
  expect(await clocks.now()).toBe(-80 * MINUTE)

  await clocks.set(-80 * MINUTE - 2 * HOUR)
  await clocks.renew()
  expect(await clocks.now()).toBe(-80 * MINUTE - 2 * HOUR)
})

test('a process that paused after reading the clock sees no step', async () => {
  await using clocks = await openClocks()
  const { database } = clocks.opened
  await clocks.opened.runtime()
  await clocks.pass(5 * SECOND)
  // The slow session has read the clock, and waits for ours.
  await database.query(
    `create or replace function wall_ms() returns bigint language plpgsql volatile as $$
    declare
      v_ms bigint := (select ms from test_wall);
    begin
      if current_setting('application_name') = 'slow' then
        perform pg_advisory_xact_lock(7);
      end if;
      return v_ms;
    end $$`,
  )
  await database.query('select pg_advisory_lock(7)')
  const slow = await database.connect()
  await slow.query(`set application_name to 'slow'`)
  const renewal = slow.query('select * from renew_lease(1, 30000)')
  await eventually(() =>
    database.query(`select 1 from pg_locks where locktype = 'advisory' and not granted
      and pid in (select pid from pg_stat_activity where application_name = 'slow')`),
  )

  await clocks.pass(5 * SECOND)
  await clocks.renew()
  await database.query('select pg_advisory_unlock(7)')
  await renewal

  expect(await clocks.now()).toBe(10 * SECOND)
})

/** A store whose server shows what a test sets; all times are those since noon. */
async function openClocks() {
  const opened: TestStore = await openStore()
  const { database } = opened
  await database.query('create table test_wall as select $1::bigint as ms', [NOON])
  await database.query(
    `create or replace function wall_ms() returns bigint language sql volatile as
    'select ms from test_wall'`,
  )
  const since = async (sql: string): Promise<number> => {
    const [row] = await database.query<{ ms: string }>(`select (${sql}) as ms`)
    return Number(row!.ms) - NOON
  }
  return {
    opened,
    now: () => since('now_ms()'),
    wall: () => since('wall_ms()'),
    set: (ms: number) => database.query('update test_wall set ms = $1', [NOON + ms]),
    pass: (ms: number) => database.query('update test_wall set ms = ms + $1', [ms]),
    renew: () => opened.store.renewLease(1, 30_000),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}
