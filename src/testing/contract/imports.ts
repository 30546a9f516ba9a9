import type { ImportItem } from '../../store/admin.ts'
import { StoreError } from '../../store/store-error.ts'
import { message, setting } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'

/** Instances that are made from a history. */
export function describeImports({ describe, test, expect, open }: Contract): void {
  describe('imports', () => {
    test('an imported instance is there with its history and its state, and due at once', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)
      const clock = await scene.clock()
      const item = imported(iid!, {
        workflow: runtime.workflows[0]!,
        labels: '{"from":"elsewhere"}',
        state: setting({ a: '1', b: '' }).state,
      })

      expect(await scene.store.import(item)).toBe('done')

      expect(await scene.load(iid!)).toEqual({
        iid,
        id: idOf(iid!),
        workflow: { name: 'order', version: '1' },
        execution: 1,
        parent: null,
        history: item.turns,
        inbox: [],
        tasks: [],
      })
      const row = await scene.look(iid!)
      expect(row).toMatchObject({ status: 'running', labels: '{"from":"elsewhere"}', output: null })
      expect(row.createdAt).toBeGreaterThanOrEqual(clock)
      expect(await scene.stateOf(iid!, 'a', 'b')).toEqual(['1', ''])
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 0, claimable: true })
    })

    test('the runtime that claims it continues after its last turn', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)
      await scene.store.import(imported(iid!, { workflow: runtime.workflows[0]! }))

      const { claims } = await runtime.claim()
      const verdicts = await runtime.turns(turnItem(iid!, { turn: turnRow(4) }))

      expect(claims).toEqual([{ iid, epoch: 1, execution: 1, turn: 3, deaths: 0, doing: '' }])
      expect(verdicts).toEqual(['done'])
      expect(await scene.turnsOf(iid!)).toEqual([1, 2, 3, 4])
    })

    test('a later execution is imported under its number', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)
      const turns = [1, 2].map((turn) => turnRow(turn, { execution: 7 }))

      await scene.store.import(imported(iid!, { workflow: runtime.workflows[0]!, turns }))

      expect(await scene.load(iid!)).toMatchObject({ execution: 7, history: turns })
      expect((await runtime.claim()).claims).toMatchObject([{ iid, execution: 7, turn: 2 }])
      expect(await scene.store.history(iid!, 1)).toEqual([])
    })

    test('an import that is sent again is recognised, and changes nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)
      const item = imported(iid!, {
        workflow: runtime.workflows[0]!,
        state: setting({ a: 'imported' }).state,
      })
      await scene.store.import(item)
      await runtime.claim()
      await runtime.turns(turnItem(iid!, { turn: turnRow(4), effects: setting({ a: 'changed' }) }))
      const before = await scene.state([iid!], [runtime])

      expect(await scene.store.import(item)).toBe('done')

      expect(await scene.state([iid!], [runtime])).toEqual(before)
      expect(await scene.stateOf(iid!, 'a')).toEqual(['changed'])
    })

    test('an id that is taken gets `exists`, even by an unstarted instance', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const taken = await runtime.ownOne()
      await scene.post(message('unstarted', '1'))
      const [first, second] = await runtime.reserve(2)
      const before = await scene.state([taken], [runtime])
      const given = { workflow: runtime.workflows[0]!, state: setting({ a: '1' }).state }

      const verdicts = [
        await scene.store.import(imported(first!, { ...given, id: idOf(taken) })),
        await scene.store.import(imported(second!, { ...given, id: 'unstarted' })),
      ]

      expect(verdicts).toEqual(['exists', 'exists'])
      expect(await scene.state([taken], [runtime])).toEqual(before)
      expect(await scene.store.find(['unstarted'])).toMatchObject([
        { status: 'unstarted', mail: 1 },
      ])
      for (const iid of [first!, second!]) {
        expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, history: 0, state: 0 })
      }
    })

    test('of two concurrent imports of one id exactly one gets it', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.under.another()
      const [first, second] = await runtime.reserve(2)
      const item = imported(first!, { workflow: runtime.workflows[0]!, id: 'same' })

      const verdicts = await Promise.all([
        untilNotLocked(() => scene.store.import(item)),
        untilNotLocked(() => other.import({ ...item, iid: second! })),
      ])

      expect(new Set(verdicts)).toEqual(new Set(['done', 'exists']))
      const [row] = await scene.store.find(['same'])
      expect(row?.iid).toBe(verdicts[0] === 'done' ? first : second)
      expect(await runtime.claimed()).toEqual([row!.iid])
    })
  })
}

/** Sends it again while the other one has the id locked, as a client does. */
async function untilNotLocked<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await send()
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'locked') throw error
    }
  }
}

/** Something to import: by default, three turns of the first execution. */
function imported(
  iid: number,
  given: Partial<ImportItem> & Pick<ImportItem, 'workflow'>,
): ImportItem {
  const turns = [1, 2, 3].map((turn) => turnRow(turn))
  return { iid, id: idOf(iid), labels: '{}', turns, state: [], ...given }
}
