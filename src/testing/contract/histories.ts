import { continuing, END } from './items.ts'
import { type Contract, turnItem, turnRow } from './scene.ts'

/** What is kept of each execution. */
export function describeHistories({ describe, test, expect, open }: Contract): void {
  describe('histories', () => {
    test('earlier executions are kept, each with its own turns [test_execution_history_persistence]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      for (const execution of [1, 2]) {
        const turn = turnRow(2, { execution, events: `end of ${execution}` })
        const next = continuing(runtime.workflows[0]!, { execution: execution + 1 })
        expect(await runtime.turns(turnItem(iid, { turn, next }))).toEqual(['done'])
      }

      const events = async (execution: number) =>
        (await scene.store.history(iid, execution)).map((row) => row.events)
      expect([await events(1), await events(2), await events(3)]).toEqual([
        ['event 1', 'end of 1'],
        ['life 2', 'end of 2'],
        ['life 3'],
      ])
      expect(await scene.under.rows(iid)).toMatchObject({ history: 5 })
    })

    test('an execution is read by its number, the latest without [test_execution_isolation]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(turnItem(iid, { turn: turnRow(2) }))
      const next = continuing(runtime.workflows[0]!)
      await runtime.turns(turnItem(iid, { turn: turnRow(3), next }))
      await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution: 2 }) }))

      expect(await scene.store.history(iid, 1)).toEqual([turnRow(1), turnRow(2), turnRow(3)])
      expect((await scene.load(iid)).history).toEqual(await scene.store.history(iid, 2))
      expect(await scene.turnsOf(iid)).toEqual([1, 2])
    })

    test('an execution is read in pages of turns, from the one with the next event on', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const second = turnRow(2, { first: 2, count: 3 })
      const third = turnRow(3, { first: 5, count: 1 })
      await runtime.turns(turnItem(iid, { turn: second }))
      await runtime.turns(turnItem(iid, { turn: third }))
      const page = async (after: number, limit: number): Promise<number[]> =>
        (await scene.store.history(iid, 1, { after, limit })).map(({ turn }) => turn)

      expect(await scene.store.history(iid, 1, { after: 1, limit: 1 })).toEqual([second])
      expect([await page(0, 2), await page(0, 10), await page(3, 10), await page(4, 10)]).toEqual([
        [1, 2],
        [1, 2, 3],
        [2, 3],
        [3],
      ])
      expect([await page(5, 10), await page(1_000_000, 10)]).toEqual([[], []])
    })

    test('there is no history of an execution or an instance that never existed', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      expect([
        await scene.store.history(iid, 0),
        await scene.store.history(iid, 2),
        await scene.store.history(123_456_789, 1),
      ]).toEqual([[], [], []])
    })

    test('history stays readable after the end [test_get_execution_info]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const next = continuing(runtime.workflows[0]!)
      await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))
      await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution: 2 }), next: END }))

      expect(await scene.look(iid)).toMatchObject({
        execution: 2,
        status: 'completed',
        output: '"done"',
      })
      expect((await scene.store.history(iid, 1)).length).toBe(2)
      expect((await scene.store.history(iid, 2)).length).toBe(2)
    })

    test('a damaged execution is read whole, and never shortened [test_read_with_execution_corrupted_history_returns_error]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(turnItem(iid, { turn: turnRow(2) }))
      await scene.under.corrupt(iid)

      const history = await scene.store.history(iid, 1)

      expect(history.map(({ turn }) => turn)).toEqual([1, 2])
      expect(history[0]).toEqual(turnRow(1))
      expect(history[1]!.events === turnRow(2).events).toBe(false)
    })
  })
}
