import { alive, type Contract, LEASE_MS } from './scene.ts'
import { firing, newSchedule, newStart, onlySchedule, scheduled } from './schedule-items.ts'

const HOUR_MS = 3_600_000

/** Schedules as clients set, read and remove them. */
export function describeSchedules({ describe, test, expect, open }: Contract): void {
  describe('schedules', () => {
    test('a schedule is read as it was put', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) + HOUR_MS

      const outcome = await scene.store.schedules.put(newSchedule(runtime, { nextAt }))

      expect(outcome).toBe('created')
      expect(await onlySchedule(scene)).toMatchObject({
        ...newSchedule(runtime, { nextAt }),
        workflowName: { name: 'order', version: '1' },
        paused: false,
        wakeAt: nextAt,
        lastAt: null,
        lastId: null,
        started: 0,
        skipped: 0,
        skippedAt: null,
        missed: 0,
        missedAt: null,
        error: null,
        errorAt: null,
        running: [],
      })
    })

    test('the same once more changes nothing, not even the revision', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) + HOUR_MS
      const before = await scheduled(scene, runtime, { nextAt })

      const again = { nextAt: nextAt + 5, revision: 'second', anchor: 9 }
      const outcome = await scene.store.schedules.put(newSchedule(runtime, again))

      expect(outcome).toBe('unchanged')
      expect(await onlySchedule(scene)).toEqual(before)
    })

    test('another timing replaces the next due time', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) + HOUR_MS
      await scheduled(scene, runtime, { nextAt })

      const changed = { nextAt: nextAt + HOUR_MS, timing: '"later"', revision: 'second', anchor: 9 }
      const outcome = await scene.store.schedules.put(newSchedule(runtime, changed))

      expect(outcome).toBe('changed')
      expect(await onlySchedule(scene)).toMatchObject({ ...changed, wakeAt: nextAt + HOUR_MS })
    })

    test('another template keeps the next due time', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) + HOUR_MS
      await scheduled(scene, runtime, { nextAt })

      const changed = { nextAt: nextAt + 5, template: '"other"', revision: 'second', anchor: 9 }
      const outcome = await scene.store.schedules.put(newSchedule(runtime, changed))

      expect(outcome).toBe('changed')
      expect(await onlySchedule(scene)).toMatchObject({
        template: '"other"',
        revision: 'second',
        nextAt,
        wakeAt: nextAt,
        anchor: 1,
      })
    })

    test('a paused schedule stays paused when it is changed', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: (await scene.clock()) + HOUR_MS })
      await scene.store.schedules.move({ ...row, due: row.nextAt, paused: true })

      const changed = { nextAt: row.nextAt, timing: '"later"', revision: 'second' }
      await scene.store.schedules.put(newSchedule(runtime, changed))

      expect(await onlySchedule(scene)).toMatchObject({ paused: true, wakeAt: null })
    })

    test('schedules are read by name, in order; unknown names are left out', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      for (const name of ['b', 'a "quoted"', 'c']) {
        await scheduled(scene, runtime, { name, nextAt: 1 })
      }
      const namesOf = async (names?: readonly string[]) =>
        (await scene.store.schedules.read(names)).map(({ name }) => name)

      expect(await namesOf()).toEqual(['a "quoted"', 'b', 'c'])
      expect(await namesOf(['c', 'unknown', 'b'])).toEqual(['b', 'c'])
      expect(await namesOf([])).toEqual([])
    })

    test('one that was removed is gone, and can be created again', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      await scheduled(scene, runtime, { nextAt: 1 })

      expect(await scene.store.schedules.remove('nightly')).toBe(true)
      expect(await scene.store.schedules.remove('nightly')).toBe(false)
      expect(await scene.store.schedules.read()).toEqual([])
      expect(await scene.store.schedules.put(newSchedule(runtime, { nextAt: 1 }))).toBe('created')
    })

    test('a move applies only to what its sender has read', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1_000 })
      const read = { name: 'nightly', revision: 'first', due: 1_000 }
      const move = { ...read, nextAt: 2_000, setAt: 1_500, paused: false }
      const { schedules } = scene.store

      expect(await schedules.move({ ...move, due: 1_001 })).toBe(false)
      expect(await schedules.move({ ...move, revision: 'other' })).toBe(false)
      expect(await schedules.move({ ...move, name: 'unknown' })).toBe(false)
      expect(await onlySchedule(scene)).toEqual(row)
      expect(await schedules.move(move)).toBe(true)
      expect(await onlySchedule(scene)).toMatchObject({
        nextAt: 2_000,
        wakeAt: 2_000,
        setAt: 1_500,
      })
    })

    test('those that are due come first by their time, and then the others that are named', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const now = await scene.clock()
      const times = { late: now - 2, later: now - 1, soon: now + HOUR_MS, far: now + 2 * HOUR_MS }
      for (const [name, nextAt] of Object.entries(times)) {
        await scheduled(scene, runtime, { name, nextAt })
      }
      const paused = await scheduled(scene, runtime, { name: 'paused', nextAt: now - 3 })
      await scene.store.schedules.move({ ...paused, due: paused.nextAt, paused: true })
      const { schedules } = scene.store

      const all = await schedules.due(10, [])
      const first = await schedules.due(1, ['far', 'paused', 'unknown'])

      expect(all.schedules.map(({ name }) => name)).toEqual(['late', 'later'])
      expect(all.next).toBe(now + HOUR_MS)
      expect(all.clock).toBeGreaterThanOrEqual(now)
      expect(first.schedules.map(({ name }) => name)).toEqual(['late', 'far'])
    })

    test('a tick says when the next one has to be looked at', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextOf = async () => alive(await runtime.tick()).nextSchedule
      const none = await nextOf()
      const nextAt = (await scene.clock()) + 5_000
      const row = await scheduled(scene, runtime, { nextAt })
      await scheduled(scene, runtime, { name: 'other', nextAt: nextAt + 5 })

      expect(none).toBe(null)
      expect(await nextOf()).toBe(nextAt)
      await scene.store.schedules.move({ ...row, due: nextAt, paused: true })
      expect(await nextOf()).toBe(nextAt + 5)
    })

    test('if the clock was turned back by more than an hour, they are to be looked at again', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const anchor = await scene.clock()
      const row = await scheduled(scene, runtime, { nextAt: anchor + 9 * HOUR_MS, anchor })
      const due = async () => (await scene.store.schedules.due(10, [])).schedules

      await scene.under.advance(-HOUR_MS / 2)
      const little = [await due(), alive(await runtime.tick()).nextSchedule]
      await scene.under.advance(-2 * HOUR_MS)
      const { clock, nextSchedule } = alive(await runtime.tick())
      const much = await due()
      const setAt = await scene.clock()
      const nextAt = setAt + HOUR_MS
      await scene.store.schedules.move({ ...row, due: row.nextAt, nextAt, setAt })

      expect(little).toEqual([[], row.nextAt])
      expect(nextSchedule).toBeLessThanOrEqual(clock)
      expect(much).toEqual([row])
      expect(await due()).toEqual([])
    })

    test('a clock that was turned back is noticed, whatever is done with the schedule next', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const { schedules } = scene.store
      const isTurnedBack = async () =>
        (await schedules.due(10, [])).schedules.map(({ name }) => name)
      const ahead = (await scene.clock()) + 10 * HOUR_MS
      const far = { nextAt: ahead, anchor: ahead }
      const fired = await scheduled(scene, runtime, { name: 'fired', nextAt: 1, anchor: ahead })
      const edited = await scheduled(scene, runtime, { name: 'edited', ...far })
      const paused = await scheduled(scene, runtime, { name: 'paused', ...far })

      // It was computed while the clock was ahead.
      const late = { nextAt: ahead + HOUR_MS, setAt: ahead }
      const verdicts = await schedules.fire([firing(fired, null, late)])
      await schedules.put({ ...newSchedule(runtime, { nextAt: 1 }), name: 'edited', template: '1' })
      const pause = { ...paused, due: ahead }
      await schedules.move({ ...pause, paused: true })
      const meanwhile = await isTurnedBack()
      await schedules.move({ ...pause, paused: false })

      expect(verdicts).toEqual(['missed'])
      expect(edited.nextAt).toBe(ahead)
      expect(meanwhile.toSorted()).toEqual(['edited', 'fired'])
      expect((await isTurnedBack()).toSorted()).toEqual(['edited', 'fired', 'paused'])
    })

    test('a failure is recorded, and leaves it due for others', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const nextAt = (await scene.clock()) - 1
      const row = await scheduled(scene, runtime, { nextAt })
      const { schedules } = scene.store

      await schedules.fail({ ...row, due: nextAt, revision: 'other' }, 'not this one')
      await schedules.fail({ ...row, due: nextAt - 1 }, 'fired meanwhile')
      const before = await onlySchedule(scene)
      await schedules.fail({ ...row, due: nextAt }, 'no such "time zone"')
      const failed = await onlySchedule(scene)
      const due = await schedules.due(10, [])
      await schedules.put(newSchedule(runtime, { nextAt, template: '1', revision: 'second' }))

      expect(before).toEqual(row)
      expect(failed).toMatchObject({ error: 'no such "time zone"', nextAt, wakeAt: nextAt })
      expect(failed.errorAt).toBeGreaterThan(nextAt)
      expect(due).toMatchObject({ schedules: [failed], next: null })
      expect(await onlySchedule(scene)).toMatchObject({
        error: null,
        errorAt: null,
        wakeAt: nextAt,
      })
    })

    test('it outlives every runtime', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const row = await scheduled(scene, runtime, { nextAt: 1 })
      await runtime.store.unregister(runtime.runtime)
      await scene.under.advance(2 * LEASE_MS)

      expect(await scene.store.schedules.fire([firing(row, await newStart(scene, row))])).toEqual([
        'started',
      ])
    })
  })
}
