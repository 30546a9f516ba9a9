import { NO_VERSION } from '../../store/instances.ts'
import { Actor, type Contract, LEASE_MS, PAST_LEASE_MS, type Scene, sorted } from './scene.ts'

/** Starts that name no version: which one they run is decided by their first claim. */
export function describeUnversioned({ describe, test, expect, open }: Contract): void {
  describe('starts without a version', () => {
    test('have none until they are claimed, and then the latest that a live runtime has', async () => {
      await using scene = await open()
      const both = await serving(scene, ['2.0.0', '10.0.0', '11.0.0-beta.1'])
      const [iid] = await scene.sleeping(both.unversioned, [0])

      const before = (await scene.look(iid!)).workflow
      const { claims, passed } = await both.claim()

      expect(before).toEqual({ name: 'order', version: '' })
      expect(claims).toMatchObject([{ iid, epoch: 1 }])
      expect(passed).toEqual([])
      const workflow = { name: 'order', version: '10.0.0' }
      expect((await scene.load(iid!)).workflow).toEqual(workflow)
      expect((await scene.look(iid!)).workflow).toEqual(workflow)
    })

    test('are passed on by a runtime that has only an older version, and keep the version they were given', async () => {
      await using scene = await open()
      const older = await serving(scene, ['1.0.0'])
      const newer = await serving(scene, ['1.0.0', '1.1.0'])
      const [hinted, due] = await scene.sleeping(older.unversioned, [0, 0])

      const first = await older.claim({ hinted: [hinted!] })
      await scene.store.unregister(newer.runtime)
      const second = await older.claim({ hinted: [hinted!, due!] })

      expect(first.claims).toEqual([])
      expect(sorted(first.passed)).toEqual([hinted, due])
      expect([second.claims, second.passed]).toEqual([[], []])
      expect((await scene.look(hinted!)).workflow.version).toBe('1.1.0')
      const next = await serving(scene, ['1.1.0'])
      expect(await next.claimed()).toEqual([hinted, due])
    })

    test('do not wait for a runtime that has closed, or whose lease has ended', async () => {
      await using scene = await open()
      const older = await serving(scene, ['1.0.0'])
      const closed = await serving(scene, ['3.0.0'])
      await scene.store.unregister(closed.runtime)
      await serving(scene, ['2.0.0'])
      await scene.under.advance(PAST_LEASE_MS)
      const [iid] = await scene.sleeping(older.unversioned, [0])

      // The lease of the runtime that asks has ended, too, but no other has taken over.
      expect(await older.claimed()).toEqual([iid])
      expect((await scene.look(iid!)).workflow.version).toBe('1.0.0')
    })

    test('of one workflow say nothing of another, and those with a version stay as they are', async () => {
      await using scene = await open()
      const orders = await serving(scene, ['1.0.0'])
      await serving(scene, ['2.0.0'], 'refund')
      const named = await scene.sleeping(orders.workflows[0]!, [0])
      const unnamed = await scene.sleeping(orders.unversioned, [0])

      expect(await orders.claimed()).toEqual([...named, ...unnamed])
      const rows = await scene.store.look([...named, ...unnamed])
      expect(rows.map((row) => row!.workflow.version)).toEqual(['1.0.0', '1.0.0'])
    })

    test('are resolved once, by the first claim, and a later version changes nothing', async () => {
      await using scene = await open()
      const older = await serving(scene, ['1.0.0'])
      const [iid] = await scene.sleeping(older.unversioned, [0])
      await older.claim()
      const newer = await serving(scene, ['2.0.0'])
      await scene.under.kill(older.runtime)
      await newer.tick()

      expect(await newer.claimed({ hinted: [iid!] })).toEqual([])
      const again = await serving(scene, ['1.0.0'])
      expect(await again.claimed()).toEqual([iid])
      expect((await scene.look(iid!)).workflow.version).toBe('1.0.0')
    })
  })
}

/** A runtime that registers versions of a workflow as the engine does. */
class Serving extends Actor {
  get unversioned(): number {
    return this.workflows.at(-1)!
  }
}

async function serving(
  scene: Scene,
  versions: readonly string[],
  name = 'order',
): Promise<Serving> {
  const registered = await scene.store.register({
    leaseMs: LEASE_MS,
    workflows: [...versions, NO_VERSION].map((version) => ({ name, version })),
    info: 'contract suite',
  })
  return new Serving(scene.store, registered)
}
