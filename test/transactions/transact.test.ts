import { describe, expect, test } from 'vitest'
import type { Transact } from '../../src/store/transactions.ts'
import { batch, item, turn } from '../support/postgres-store.ts'
import { openScene, type Scene, STORES } from './scene.ts'

const unreached: Transact['code'] = () => {
  throw new Error('the code was run')
}

const asTask = (scene: Scene, code: Transact['code'], runtime: number, attempt: number) =>
  scene.under.store.transact(scene.work(code, { runtime, by: { attempt, token: 7 } }))
const tasksOf = async ({ under, iid }: Scene) =>
  (await under.store.load([{ iid, after: 0 }]))[0]!.tasks

describe.each(STORES)('a transaction on %s', (_, open) => {
  test('its SQL and its result are there together', async () => {
    await using scene = await openScene(open)

    const verdict = await scene.under.store.transact(scene.work(scene.adds('a')))

    expect(verdict).toBe('done')
    expect(await scene.entries()).toEqual(['a'])
    expect(await scene.inbox()).toMatchObject([
      { kind: 'completed', execution: 1, command: 1, payload: '"a"', parked: false },
    ])
  })

  test('an error of its code is thrown as it is, and nothing was written', async () => {
    await using scene = await openScene(open)
    const error = new Error('no')
    const code: Transact['code'] = async (tx) => {
      await scene.adds('a')(tx)
      throw error
    }
    const sync: Transact['code'] = (tx) => {
      void scene.adds('a')(tx)
      throw error
    }

    const isSqlite = scene.under.store.kind === 'sqlite'
    const thrown = await scene.under.store.transact(scene.work(isSqlite ? sync : code)).catch(id)

    expect(thrown).toBe(error)
    expect(await scene.entries()).toEqual([])
    expect(await scene.inbox()).toEqual([])
  })

  test('after a failure it can be run again', async () => {
    await using scene = await openScene(open)
    await scene.under.store.transact(scene.work(unreached)).catch(id)

    expect(await scene.under.store.transact(scene.work(scene.adds('a')))).toBe('done')
    expect(await scene.entries()).toEqual(['a'])
  })

  test('its code is not run again when there is a result', async () => {
    await using scene = await openScene(open)
    await scene.under.store.transact(scene.work(scene.adds('a')))

    expect(await scene.under.store.transact(scene.work(unreached))).toBe('refused')
    expect(await scene.inbox()).toHaveLength(1)
  })

  test('each command has its own transaction', async () => {
    await using scene = await openScene(open)
    const { store } = scene.under

    const verdicts = await Promise.all([
      store.transact(scene.work(scene.adds('a'))),
      store.transact(scene.work(scene.adds('b'), { command: 2 })),
    ])

    expect(verdicts).toEqual(['done', 'done'])
    expect(await scene.entries()).toEqual(['a', 'b'])
  })

  test('an owner whose instance was taken over does not run it; the new one does', async () => {
    await using scene = await openScene(open)
    const { store } = scene.under
    const { runtime, epoch } = await scene.takeOver()

    expect(await store.transact(scene.work(unreached))).toBe('refused')
    expect(await store.transact(scene.work(unreached, { runtime }))).toBe('refused')
    expect(
      await store.transact(scene.work(scene.adds('b'), { runtime, by: { epoch, turn: 1 } })),
    ).toBe('done')
    expect(await scene.entries()).toEqual(['b'])
  })

  test('it does not run while the instance is suspended', async () => {
    await using scene = await openScene(open)
    await scene.under.store.suspend([`order-${scene.iid}`], '"later"')

    expect(await scene.under.store.transact(scene.work(unreached))).toBe('refused')
  })

  test('it does not run for an instance that has ended', async () => {
    await using scene = await openScene(open)
    const end = { status: 'completed', output: '1' } as const
    const last = item(scene.iid, { turn: turn(2), next: { kind: 'end', end } })
    await scene.under.store.commit(batch(scene.owner, { turns: [last] }))

    expect(await scene.under.store.transact(scene.work(unreached))).toBe('refused')
  })

  test('a result that was already taken is found before the code runs', async () => {
    await using scene = await openScene(open)
    const { store } = scene.under
    await store.transact(scene.work(scene.adds('a')))
    const [row] = await scene.inbox()
    const taking = item(scene.iid, { turn: turn(2), taken: [row!.id] })
    await store.commit(batch(scene.owner, { turns: [taking] }))

    const isWanted = false
    const again = store.transact(
      scene.work((tx) => (isWanted ? scene.adds('b')(tx) : unreached(tx))),
    )

    await expect(again).rejects.toThrow('the code was run')
    expect(await scene.entries()).toEqual(['a'])
    expect(await scene.inbox()).toEqual([])
  })

  describe('of a task', () => {
    test('its SQL, its result and the end of the task are there together', async () => {
      await using scene = await openScene(open)
      const { runtime, attempt } = await scene.makeTask()

      expect(await asTask(scene, scene.adds('a'), runtime, attempt)).toBe('done')
      expect(await scene.entries()).toEqual(['a'])
      expect(await scene.inbox()).toMatchObject([{ kind: 'completed', payload: '"a"' }])
      expect(await tasksOf(scene)).toEqual([])
      expect(await asTask(scene, unreached, runtime, attempt)).toBe('refused')
    })

    test('code that throws leaves the task as it was', async () => {
      await using scene = await openScene(open)
      const { runtime, attempt } = await scene.makeTask()

      await expect(asTask(scene, unreached, runtime, attempt)).rejects.toThrow('the code was run')
      expect(await tasksOf(scene)).toEqual([{ command: 1, attempts: attempt, isOwned: true }])
      expect(await asTask(scene, scene.adds('a'), runtime, attempt)).toBe('done')
    })

    test('only its owner runs it, and only at this attempt', async () => {
      await using scene = await openScene(open)
      const { runtime, attempt } = await scene.makeTask()

      expect(await asTask(scene, unreached, runtime, attempt + 1)).toBe('refused')
      expect(await asTask(scene, unreached, runtime + 1, attempt)).toBe('refused')
      await scene.under.store.finishTasks(runtime, [
        { ...KEY, iid: scene.iid, token: 7, attempt, end: { kind: 'release', delayMs: 0 } },
      ])
      expect(await asTask(scene, unreached, runtime, attempt)).toBe('refused')
      expect(await scene.entries()).toEqual([])
    })
  })
})

const KEY = { execution: 1, command: 1 }

function id(error: unknown): unknown {
  return error
}
