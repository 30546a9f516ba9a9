import { setTimeout as passTime } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { connect } from '../../src/index.ts'
import { eventually } from '../support/engine.ts'
import { Firers } from './firers.ts'
import { counted } from './programs/schedules.ts'
import { randomFrom } from './random.ts'
import { openScene } from './scene.ts'
import { storeOf } from './store-place.ts'
import { STORES } from './stores.ts'

const TROUBLE_MS = 8_000
const NAMES = ['a', 'b', 'c', 'd']

describe.concurrent.each(STORES)('on %s', (name, kind) => {
  test('each due time is started once, though the processes that fire are killed with kill -9', async () => {
    await using scene = openScene(kind())
    await using client = connect(storeOf(scene.store), { log: silentLog })
    await using firers = new Firers(scene)
    for (const schedule of NAMES) {
      const when = { every: '1s', overlap: 'allow', catchUp: '1h' } as const
      await client.schedule(schedule, when, counted)
    }

    const until = performance.now() + TROUBLE_MS
    await Promise.all(
      [1, 2].map(async (slot) => {
        const random = randomFrom(slot * 7 + name.length)
        while (performance.now() < until) {
          const child = firers.start()
          await passTime(400 + random() * 1_100)
          await firers.kill(child)
        }
      }),
    )
    firers.start()
    firers.start()
    const troubledUntil = Date.now()
    await eventually(async () =>
      (await client.schedules.list()).every(
        ({ lastRun }) => lastRun !== undefined && lastRun.at.getTime() > troubledUntil,
      ),
    )
    // Nothing is fired any more while it is counted.
    for (const schedule of NAMES) await client.schedules.pause(schedule)

    const rows = await scene.query('select id from instances')
    const ids = rows.map((row) => String((row as { id: unknown }).id)).toSorted()
    for (const info of await client.schedules.list()) {
      const own = ids.filter((id) => id.startsWith(`${info.name}/`))
      const first = info.createdAt.getTime() + 1_000
      const times = own.map((id) => Date.parse(id.slice(info.name.length + 1)))
      // The anchor is the moment at which the client read the clock, just before the creation.
      expect(first - times[0]!).toBeLessThan(1_000)
      expect(times).toEqual(times.map((_, i) => times[0]! + i * 1_000))
      expect(times.at(-1)).toBe(info.lastRun!.at.getTime())
      expect(info).toMatchObject({ started: own.length, missed: { count: 0 } })
    }
    expect(firers.kills).toBeGreaterThan(5)
  }, 90_000)
})
