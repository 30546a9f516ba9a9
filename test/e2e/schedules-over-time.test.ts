import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { eventually } from '../support/engine.ts'
import { expectedIds, timingOf, TWENTY } from '../support/due-times.ts'
import { postgresUrl } from '../support/postgres.ts'
import { Firers } from './firers.ts'
import { counted } from './programs/schedules.ts'
import { openScene, type Scene } from './scene.ts'
import { storeOf } from './store-place.ts'

// As test/engine/schedules-over-time.test.ts, with two processes. Every jump of the clock is longer than
// their leases. On PostgreSQL only: a process reads the clock of its machine for a SQLite file.

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** The clock of the server, as all processes see it. */
class ServerTime {
  readonly #scene: Scene
  #offsetMs = 0
  /** The latest time that it has shown. */
  latest = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  async set(at: string): Promise<void> {
    await this.pass(Date.parse(at) - (await this.#now()))
  }

  async pass(ms: number): Promise<void> {
    this.#offsetMs += Math.round(ms)
    await this.#scene.query(
      `create or replace function now_ms() returns bigint language plpgsql volatile
        set search_path from current
        as 'begin return floor(extract(epoch from clock_timestamp()) * 1000) + ${this.#offsetMs}; end'`,
    )
    this.latest = Math.max(this.latest, await this.#now())
  }

  /** Until all that is due has been started and has ended. */
  async settled(): Promise<void> {
    await eventually(async () => {
      const [row] = await this.#scene.query(
        `select (select count(*) from schedules where wake_at <= now_ms())
          + (select count(*) from runs) as open`,
      )
      return Number(row!['open']) === 0
    })
  }

  async #now(): Promise<number> {
    const [row] = await this.#scene.query('select now_ms() as now')
    return Number(row!['now'])
  }
}

test.each([
  ['forward', '2026-03-07T23:00:00Z'],
  ['back', '2026-10-31T23:00:00Z'],
])(
  'wall clocks are set %s, the clock jumps, processes are killed: twenty schedules start each due time once',
  async (_, begin) => {
    await using scene = openScene({ kind: 'postgres', url: postgresUrl() })
    await using client = connect(storeOf(scene.store), { log: silentLog })
    await using firers = new Firers(scene)
    await client.schedules.list()
    const time = new ServerTime(scene)
    await time.set(begin)
    const created = new Map<string, number>()
    for (const [name, when] of TWENTY) {
      await client.schedule(name, { ...when, overlap: 'allow', catchUp: '6h' }, counted)
      created.set(name, (await client.schedules.get(name))!.createdAt.getTime())
    }
    let [first, second] = [firers.start(), firers.start()]

    for (let step = 0; step < 12; step++) {
      await time.pass(65 * MINUTE)
      // One is killed in the middle of it.
      if (step % 4 === 1) {
        await firers.kill(first)
        first = firers.start()
      }
      await time.settled()
      // The clock is wrong for a while, once by less than any interval and once by more.
      if (step === 2 || step === 7) {
        await time.pass(step === 2 ? -7 * MINUTE : -50 * MINUTE)
        await time.settled()
      }
      // For three hours, no process is there.
      if (step === 4) {
        await firers.kill(first)
        await firers.kill(second)
        await time.pass(3 * HOUR)
        first = firers.start()
        second = firers.start()
        await time.settled()
      }
    }

    const expected = TWENTY.flatMap(([name, when]) =>
      expectedIds(name, timingOf(when), 0, created.get(name)!, time.latest),
    )
    const rows = await scene.query('select id from instances')
    expect(rows.map((row) => String(row['id'])).toSorted()).toEqual(expected.toSorted())
    const infos = await client.schedules.list()
    expect(infos.reduce((sum, { started }) => sum + started, 0)).toBe(expected.length)
    expect(infos.filter(({ missed }) => missed.count > 0)).toEqual([])
    expect(firers.kills).toBe(5)
  },
  120_000,
)
