import { childOf, continuing, END, endOf } from './items.ts'
import { type Contract, ending, idOf, turnItem, turnRow } from './scene.ts'

/** Ends of children whose parents do not get the result, or not again. */
export function describeUnheardResults({ describe, test, expect, open }: Contract): void {
  describe('undelivered results', () => {
    test('an end that is sent again delivers no second result', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const parent = await runtime.ownOne()
      const [child] = await runtime.ownChildren(childOf(parent, { command: 1 }))
      const [quick] = await runtime.reserve(1)
      const batch = {
        starts: [
          runtime.startItem(quick!, { parent: childOf(parent, { command: 2 }), end: ending() }),
        ],
        turns: [turnItem(child!, { turn: turnRow(2), next: END })],
      }
      await runtime.commit(batch)
      const first = await scene.inboxOf(parent)
      await runtime.turns(turnItem(parent, { taken: first.map(({ id }) => id) }))

      const again = await runtime.commit(batch)

      expect(again).toMatchObject({ starts: ['done'], turns: ['done'] })
      expect([first.length, await scene.inboxOf(parent)]).toEqual([2, []])
    })

    test('an end that is refused delivers no result', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const stranger = await scene.otherRuntime()
      const parent = await runtime.ownOne()
      const [child] = await runtime.ownChildren(childOf(parent))
      const [taken] = await runtime.reserve(1)

      const turns = await stranger.turns(turnItem(child!, { turn: turnRow(2), next: END }))
      const starts = await runtime.starts(
        runtime.startItem(taken!, { id: idOf(child!), parent: childOf(parent), end: ending() }),
      )

      expect([turns, starts]).toEqual([['refused'], ['exists']])
      expect(await scene.inboxOf(parent)).toEqual([])
    })

    test('a parent in another execution gets nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const parent = await runtime.ownOne()
      const [old, current] = await runtime.ownChildren(
        childOf(parent, { command: 1 }),
        childOf(parent, { command: 1, execution: 2 }),
      )
      const next = continuing(runtime.workflows[0]!)
      await runtime.turns(turnItem(parent, { turn: turnRow(2), next }))

      await endOf(runtime, old!)
      await endOf(runtime, current!)

      expect((await scene.inboxOf(parent)).map(({ execution }) => execution)).toEqual([2])
    })

    test('a parent that has ended, or was removed, gets nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [ended, removed] = await runtime.own(2)
      const children = await runtime.ownChildren(childOf(ended!), childOf(removed!))
      await endOf(runtime, ended!)
      await endOf(runtime, removed!)
      await scene.store.remove([idOf(removed!)])
      // The id lives again, under another number.
      const [reborn] = await runtime.reserve(1)
      await runtime.starts(runtime.startItem(reborn!, { id: idOf(removed!) }))

      for (const child of children) await endOf(runtime, child)

      expect((await scene.store.look(children)).map((row) => row?.status)).toEqual([
        'completed',
        'completed',
      ])
      expect(await scene.under.rows(ended!)).toMatchObject({ inbox: 0 })
      expect(await scene.under.rows(removed!)).toMatchObject({ inbox: 0 })
      expect(await scene.inboxOf(reborn!)).toEqual([])
    })

    for (const order of ['parent first', 'child first'] as const) {
      test(`a parent and a child that end in one batch leave nothing behind (${order})`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const parent = await runtime.ownOne()
        const [child] = await runtime.ownChildren(childOf(parent))
        const items = [parent, child!].map((iid) => turnItem(iid, { turn: turnRow(2), next: END }))

        const verdicts = await runtime.turns(
          ...(order === 'parent first' ? items : items.toReversed()),
        )

        expect(verdicts).toEqual(['done', 'done'])
        expect(await scene.under.rows(parent)).toMatchObject({ runs: 0, inbox: 0 })
      })

      test(`a parent that continues as its child ends keeps no result of before (${order})`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const parent = await runtime.ownOne()
        const [child] = await runtime.ownChildren(childOf(parent))
        const items = [
          turnItem(parent, { turn: turnRow(2), next: continuing(runtime.workflows[0]!) }),
          turnItem(child!, { turn: turnRow(2), next: END }),
        ]

        await runtime.turns(...(order === 'parent first' ? items : items.toReversed()))

        expect(await scene.inboxOf(parent)).toEqual([])
      })
    }
  })
}
