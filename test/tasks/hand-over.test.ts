import { setTimeout as passTime } from 'node:timers/promises'
import { expect, test } from 'vitest'

import { activity, workflow } from '../../src/index.ts'
import { describeOnStores, eventually, openSpace } from '../support/engine.ts'
import { dataOf, QUICK, tasksOf } from './support.ts'

describeOnStores('activities that wait for a slot', (kind) => {
  const COUNT = 16
  const slow = activity<number, string>('slow')
  const many = workflow('many', async (_: undefined, ctx) => {
    const items = Array.from({ length: COUNT }, (_item, i) => i)
    return ctx.map(items, (i, inner) => inner.run(slow, i))
  })

  /** Records which process ran which, and how many at once. */
  function openDiary() {
    const ran: [place: string, n: number][] = []
    const busy = new Map<string, number>()
    let most = 0
    const slowIn = (place: string) =>
      slow.implement(async (n) => {
        ran.push([place, n])
        const now = (busy.get(place) ?? 0) + 1
        busy.set(place, now)
        if (place === 'full') most = Math.max(most, now)
        await passTime(150)
        busy.set(place, busy.get(place)! - 1)
        return place
      })
    return { ran, slowIn, mostAtOnce: () => most }
  }

  test('are run by another runtime that is idle, each once', async () => {
    await using space = await openSpace(kind)
    const { ran, slowIn, mostAtOnce } = openDiary()
    const full = await space.open([many, slowIn('full')], {
      concurrency: { activities: 1 },
      ...QUICK,
    })
    await space.open(slowIn('idle'), QUICK)

    const started = await full.start(many, undefined, { id: 'i' })
    const places = await started.result({ timeout: '15s' })

    expect(new Set(places)).toEqual(new Set(['full', 'idle']))
    expect(ran.map(([, n]) => n).toSorted((a, b) => a - b)).toEqual(places.map((_, i) => i))
    expect(mostAtOnce()).toBe(1)
    // Where it runs was decided when it was given; handing it over changes nothing in the past.
    const given = await dataOf(started, 'activity')
    expect(new Set(given.map((data) => data['where']))).toEqual(new Set(['local']))
  })

  test('stay local when there is no other runtime, and no task is created', async () => {
    await using space = await openSpace(kind)
    const { ran, slowIn } = openDiary()
    const alone = await space.open([many, slowIn('full')], {
      concurrency: { activities: 4 },
      ...QUICK,
    })
    const started = await alone.start(many, undefined, { id: 'i' })
    const seen: number[] = []
    await eventually(async () => {
      seen.push((await tasksOf(space, 'i')).length)
      return (await started.info())!.status === 'completed'
    })

    expect(seen.length).toBeGreaterThan(2)
    expect(new Set(seen)).toEqual(new Set([0]))
    expect(ran).toHaveLength(COUNT)
  })
})
