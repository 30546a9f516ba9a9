import type { Firing, FiringVerdict } from '../../store/schedules.ts'
import { message } from './items.ts'
import { type Contract, ending, inTurn, type Scene, turnItem, turnRow } from './scene.ts'
import { firing, newSchedule, newStart, onlySchedule, scheduled } from './schedule-items.ts'

const MINUTE_MS = 60_000

function fire({ store }: Scene, ...firings: readonly Firing[]): Promise<readonly FiringVerdict[]> {
  return store.schedules.fire(firings)
}

/** What happens when the due time of a schedule has come. */
export function describeFiring({ describe, test, expect, open }: Contract): void {
  describe('firing schedules', () => {
    test('a due time starts an instance that can be claimed, and the next one follows', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const due = (await scene.clock()) - 5
      const row = await scheduled(scene, runtime, { nextAt: due })
      const start = await newStart(scene, row)

      const verdicts = await fire(scene, firing(row, start))

      expect(verdicts).toEqual(['started'])
      expect(await onlySchedule(scene)).toMatchObject({
        nextAt: due + MINUTE_MS,
        wakeAt: due + MINUTE_MS,
        lastAt: due,
        lastId: start.id,
        started: 1,
        running: [{ iid: start.iid, id: start.id }],
      })
      expect((await runtime.claim()).claims.map(({ iid }) => iid)).toEqual([start.iid])
    })

    test('a due time that several runtimes fire, and fire again, is started once', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const others = await inTurn([1, 2, 3], () => scene.under.another())
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const stores = [scene.store, ...others]
      const firings = await inTurn(stores, async () => firing(row, await newStart(scene, row)))

      const verdicts = await Promise.all(
        stores.map(async (store, i) => (await store.schedules.fire([firings[i]!]))[0]),
      )
      const again = await fire(scene, firings[0]!)

      expect(verdicts.filter((verdict) => verdict === 'started').length).toBe(1)
      expect(verdicts.filter((verdict) => verdict === 'refused').length).toBe(3)
      expect(again).toEqual(['refused'])
      expect((await runtime.claim()).claims.length).toBe(1)
      expect(await onlySchedule(scene)).toMatchObject({ started: 1, nextAt: 1_000 + MINUTE_MS })
    })

    test('one that was changed, paused or removed since it was read is not fired', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { schedules } = scene.store
      const stale = await inTurn(['changed', 'paused', 'removed'], (name) =>
        scheduled(scene, runtime, { name, nextAt: 1_000 }),
      )
      const [changed, paused, removed] = stale
      await schedules.put(
        newSchedule(runtime, { ...changed!, template: '"other"', revision: 'second' }),
      )
      await schedules.move({ ...paused!, due: 1_000, paused: true })
      await schedules.remove(removed!.name)

      const firings = await inTurn(stale, async (row) => firing(row, await newStart(scene, row)))
      const verdicts = await fire(scene, ...firings)

      expect(verdicts).toEqual(['refused', 'refused', 'refused'])
      expect((await runtime.claim()).claims).toEqual([])
    })

    test('a schedule that was removed and created again has other due times', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const stale = await scheduled(scene, runtime, { nextAt: 1_000 })
      await scene.store.schedules.remove(stale.name)
      await scheduled(scene, runtime, { nextAt: 1_000, revision: 'second' })

      expect(await fire(scene, firing(stale, await newStart(scene, stale)))).toEqual(['refused'])
    })

    test('each firing of a batch is judged by itself', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const rows = await inTurn(['a', 'b', 'c'], (name) =>
        scheduled(scene, runtime, { name, nextAt: 1_000 }),
      )
      const firings = await inTurn(rows, async (row) => firing(row, await newStart(scene, row)))

      const verdicts = await fire(scene, firings[0]!, { ...firings[1]!, due: 999 }, firings[2]!)

      expect(verdicts).toEqual(['started', 'refused', 'started'])
      expect((await runtime.claim()).claims.length).toBe(2)
    })

    test('a due time whose id is taken is started no second time, and counts as skipped', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const before = await newStart(scene, row)
      await scene.store.start([before])

      const start = await newStart(scene, row, { id: before.id })
      const verdicts = await fire(scene, firing(row, start))

      expect(verdicts).toEqual(['exists'])
      expect(await onlySchedule(scene)).toMatchObject({
        nextAt: 1_000 + MINUTE_MS,
        started: 0,
        skipped: 1,
        lastId: null,
        running: [],
      })
    })

    test('messages that came first are kept for the start, under their number', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const start = await newStart(scene, row)
      await scene.post(message(start.id, 'early'))
      const [waiting] = await scene.store.find([start.id])

      const first = await fire(scene, firing(row, start))
      const unchanged = await onlySchedule(scene)
      const second = await fire(scene, firing(row, { ...start, iid: waiting!.iid }))

      expect([first, second]).toEqual([['unstarted'], ['started']])
      expect(unchanged).toEqual(row)
      expect((await scene.inboxOf(waiting!.iid)).length).toBe(1)
    })

    test('a number that another instance has needs another number', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const iid = await runtime.ownOne()

      const verdicts = await fire(scene, firing(row, await newStart(scene, row, { iid })))

      expect(verdicts).toEqual(['renumber'])
      expect(await onlySchedule(scene)).toEqual(row)
    })

    test('with skip, due times pass while an instance runs, all at once', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const overlap = 'skip'
      const start = await newStart(scene, row)
      await fire(scene, firing(row, start, { overlap }))
      const later = await onlySchedule(scene)

      const passed = { overlap, passed: 7, nextAfterPassed: 1_000 + 8 * MINUTE_MS } as const
      const verdicts = await fire(scene, firing(later, await newStart(scene, row), passed))
      const skipped = await onlySchedule(scene)
      await runtime.claim()
      await runtime.turns(
        turnItem(start.iid, { turn: turnRow(2), next: { kind: 'end', end: ending() } }),
      )
      const next = await newStart(scene, row)
      const after = await fire(scene, firing(skipped, next, { overlap }))

      expect([verdicts, after]).toEqual([['skipped'], ['started']])
      expect(skipped).toMatchObject({
        nextAt: 1_000 + 8 * MINUTE_MS,
        wakeAt: 1_000 + 8 * MINUTE_MS,
        skipped: 7,
        started: 1,
        lastId: start.id,
      })
      expect(skipped.skippedAt).toBeGreaterThan(1_000)
      expect((await onlySchedule(scene)).running).toEqual([{ iid: next.iid, id: next.id }])
    })

    test('with queue, a due time waits until the instance before it has ended', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const overlap = 'queue'
      const start = await newStart(scene, row)
      await fire(scene, firing(row, start, { overlap }))
      const later = await onlySchedule(scene)
      const now = await scene.clock()

      const verdicts = await fire(scene, firing(later, await newStart(scene, row), { overlap }))
      const waiting = await onlySchedule(scene)
      const { schedules } = await scene.store.schedules.due(10, [])
      const named = await scene.store.schedules.due(10, [row.name])
      await scene.store.terminate([{ id: start.id, output: '"gone"', events: turnRow(2).events }])
      const after = await fire(scene, firing(waiting, await newStart(scene, row), { overlap }))

      expect([verdicts, after]).toEqual([['waiting'], ['started']])
      expect(waiting).toMatchObject({ nextAt: later.nextAt, skipped: 0, started: 1 })
      expect(waiting.wakeAt).toBeGreaterThan(now)
      expect(schedules).toEqual([])
      expect(named.schedules).toEqual([waiting])
      expect(await onlySchedule(scene)).toMatchObject({ started: 2 })
    })

    test('a suspended instance still runs, as far as its schedule is concerned', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const start = await newStart(scene, row)
      await fire(scene, firing(row, start))
      await scene.store.suspend([start.id], '"why"')
      const later = await onlySchedule(scene)

      const next = firing(later, await newStart(scene, row), { overlap: 'skip' })

      expect(await fire(scene, next)).toEqual(['skipped'])
    })

    test('due times that are too long ago are counted', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })

      const none = await fire(scene, firing(row, null, { missed: 3, nextAt: 5_000 }))
      const missed = await onlySchedule(scene)
      const start = await newStart(scene, row)
      const some = await fire(scene, firing(missed, start, { missed: 2, at: 6_000, nextAt: 7_000 }))

      expect([none, some]).toEqual([['missed'], ['started']])
      expect(missed).toMatchObject({ nextAt: 5_000, missed: 3, started: 0, lastAt: null })
      expect(missed.missedAt).toBeGreaterThan(1_000)
      expect(await onlySchedule(scene)).toMatchObject({ nextAt: 7_000, missed: 5, lastAt: 6_000 })
    })

    test('a schedule knows the latest hundred instances that it started', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      await scheduled(scene, runtime, { nextAt: 1_000 })
      const started: number[] = []

      for (let n = 0; n < 102; n++) {
        const row = await onlySchedule(scene)
        const start = await newStart(scene, row)
        await fire(scene, firing(row, start))
        started.push(start.iid)
      }

      const { running } = await onlySchedule(scene)
      expect(running.map(({ iid }) => iid)).toEqual(started.slice(2))
    })

    test('a trigger starts an instance at once, and leaves the due times alone', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) + MINUTE_MS
      const row = await scheduled(scene, runtime, { nextAt })
      await scene.store.schedules.move({ ...row, due: nextAt, paused: true })
      const start = await newStart(scene, row)
      const { schedules } = scene.store

      const verdict = await schedules.trigger(row, start)
      const again = await schedules.trigger(row, start)
      const stale = await schedules.trigger({ ...row, revision: 'other' }, start)

      expect([verdict, again, stale]).toEqual(['done', 'done', 'refused'])
      const after = await onlySchedule(scene)
      expect(after).toMatchObject({
        nextAt,
        paused: true,
        started: 1,
        lastId: start.id,
        running: [{ iid: start.iid, id: start.id }],
      })
      expect(after.lastAt).toBeGreaterThanOrEqual(row.createdAt)
      expect((await runtime.claim()).claims.map(({ iid }) => iid)).toEqual([start.iid])
    })
  })
}
