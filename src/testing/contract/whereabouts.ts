import { Actor, type Contract, LEASE_MS, PAST_LEASE_MS, type Scene } from './scene.ts'
import { asking, finish, heldOne, newTask, retried } from './task-items.ts'

/** Which runtimes work on an instance, and which could. */
export function describeWhereabouts({ describe, test, expect, open }: Contract): void {
  describe('whereabouts', () => {
    test('name the owner of an instance, and the live runtimes with what they serve', async () => {
      await using scene = await open()
      const gone = await serving(scene, 'gone 1 0.1.0')
      await scene.store.unregister(gone.runtime)
      await serving(scene, 'lapsed 2 0.1.0')
      await scene.under.advance(PAST_LEASE_MS)
      const owner = await serving(scene, 'here 3 0.1.0')
      const other = await scene.runtime({ workflows: ['refund'] })
      const iid = await owner.ownOne()

      const { owner: place, tasks, runtimes } = await scene.store.whereabouts(iid)

      expect(place).toEqual({ runtime: owner.runtime, info: 'here 3 0.1.0' })
      expect(tasks).toEqual([])
      const byNumber = new Map(runtimes.map((one) => [one.runtime, one]))
      expect([...byNumber.keys()].toSorted((a, b) => a - b)).toEqual(
        [owner.runtime, other.runtime].toSorted((a, b) => a - b),
      )
      expect(byNumber.get(owner.runtime)).toEqual({
        runtime: owner.runtime,
        info: 'here 3 0.1.0',
        registers: true,
        serves: SERVES,
        activities: [],
      })
      expect(byNumber.get(other.runtime)).toMatchObject({ registers: false, serves: null })
    })

    test('name the owner of a task and since when, what it failed with, and when it can be claimed', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await asking(runtime, [newTask(1), newTask(2)])
      const first = async () =>
        (await scene.store.whereabouts(iid)).tasks.find(({ command }) => command === 1)

      const waiting = await first()
      const task = await heldOne(runtime, { limit: 1 })
      const held = await first()
      const now = await scene.clock()
      await finish(runtime, retried(task, 60_000, '"no"'))
      const failed = await first()

      const nobody = { owner: null, ownedSince: null }
      expect(waiting).toEqual({ command: 1, attempts: 0, visibleAt: null, error: null, ...nobody })
      expect(held).toMatchObject({
        attempts: 1,
        owner: { runtime: runtime.runtime, info: 'contract suite' },
      })
      expect(Math.abs(held!.ownedSince! - now) < 5_000).toBe(true)
      expect(failed).toMatchObject({ attempts: 1, error: '"no"', ...nobody })
      expect(Math.abs(failed!.visibleAt! - now - 60_000) < 5_000).toBe(true)
    })

    test('are empty for what does not exist', async () => {
      await using scene = await open()

      expect(await scene.store.whereabouts(4_711)).toEqual({
        owner: null,
        tasks: [],
        runtimes: [],
        limit: null,
      })
    })
  })
}

const SERVES = { untagged: true, tags: ['gpu'], activities: ['charge'] } as const

async function serving(scene: Scene, info: string): Promise<Actor> {
  const registered = await scene.store.register({
    leaseMs: LEASE_MS,
    workflows: [{ name: 'order', version: '1' }],
    info,
    serves: SERVES,
  })
  return new Actor(scene.store, registered)
}
