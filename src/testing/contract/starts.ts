import { StoreError } from '../../store/store-error.ts'
import {
  type Contract,
  ending,
  errorOf,
  PAST_LEASE_MS,
  sorted,
  startItem,
  turnItem,
  turnRow,
} from './scene.ts'

/** How instances are created. */
export function describeStarts({ describe, test, expect, open }: Contract): void {
  describe('starts', () => {
    test('an owned start has its first turn, and its owner continues at epoch 1 [test_instance_creation_via_metadata]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)

      const verdicts = await runtime.starts(runtime.startItem(iid!, { id: 'order-1' }))

      expect(verdicts).toEqual(['done'])
      expect(await scene.load(iid!)).toEqual({
        iid,
        id: 'order-1',
        workflow: { name: 'order', version: '1' },
        execution: 1,
        parent: null,
        history: [turnRow(1)],
        inbox: [],
        tasks: [],
      })
      expect(await scene.store.owned(runtime.runtime)).toEqual([
        { iid, epoch: 1, execution: 1, turn: 1, deaths: 0, doing: '' },
      ])
      expect(await runtime.turns(turnItem(iid!, { turn: turnRow(2) }))).toEqual(['done'])
    })

    test('an unowned start can be claimed from its time on, and its first claim makes it epoch 1 [test_worker_item_immediate_visibility]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      const [now, later] = await runtime.reserve(2)
      const clock = await scene.clock()

      const verdicts = await runtime.starts(
        runtime.startItem(now!, { owned: false, wakeAt: clock }),
        runtime.startItem(later!, { owned: false, wakeAt: clock + 60_000 }),
      )

      expect(verdicts).toEqual(['done', 'done'])
      const { claims } = await other.claim()
      expect(claims).toEqual([{ iid: now, epoch: 1, execution: 1, turn: 1, deaths: 0, doing: '' }])
      await scene.under.advance(PAST_LEASE_MS * 2)
      await other.tick()
      expect(await other.claimed()).toEqual([later])
    })

    test('an unowned start without a time waits for a message', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [null])
      await scene.under.advance(PAST_LEASE_MS)

      expect(await runtime.claimed({ hinted: [iid!] })).toEqual([])
      expect((await scene.look(iid!)).wakeAt).toBe(null)
    })

    test('a start that ends within its first turn leaves nothing to run', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.reserve(4)
      const statuses = ['completed', 'failed', 'cancelled', 'terminated'] as const

      const verdicts = await runtime.starts(
        ...iids.map((iid, i) =>
          runtime.startItem(iid, { end: ending(`"output ${i}"`, statuses[i]) }),
        ),
      )

      expect(verdicts).toEqual(['done', 'done', 'done', 'done'])
      const rows = await scene.store.look(iids)
      expect(rows.map((row) => [row?.status, row?.output])).toEqual(
        statuses.map((status, i) => [status, `"output ${i}"`]),
      )
      expect(await scene.under.rows(iids[0]!)).toMatchObject({
        instances: 1,
        runs: 0,
        history: 1,
        inbox: 0,
      })
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 0, claimable: false })
    })

    test('an unowned start may end within its first turn as well', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)

      const item = runtime.startItem(iid!, { owned: false, wakeAt: 0, end: ending() })
      expect(await scene.store.start([item])).toEqual(['done'])

      expect(await scene.look(iid!)).toMatchObject({ status: 'completed', wakeAt: null })
      expect(await runtime.claimed()).toEqual([])
    })

    test('an id that is taken is answered with `exists`, and the other instance is as it was', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      const [mine, ended] = await runtime.reserve(2)
      await runtime.starts(
        runtime.startItem(mine!, { id: 'a' }),
        runtime.startItem(ended!, { id: 'b', end: ending() }),
      )
      const before = await scene.state([mine!, ended!], [runtime])
      const [second, third, fourth] = await other.reserve(3)

      const committed = await other.starts(
        other.startItem(second!, { id: 'a' }),
        other.startItem(third!, { id: 'b' }),
      )
      const started = await scene.store.start([
        other.startItem(fourth!, { id: 'a', owned: false, wakeAt: 0 }),
      ])

      expect([...committed, ...started]).toEqual(['exists', 'exists', 'exists'])
      expect(await scene.state([mine!, ended!], [runtime])).toEqual(before)
      expect(await scene.store.look([second!, third!, fourth!])).toEqual([
        undefined,
        undefined,
        undefined,
      ])
      expect(await scene.under.rows(second!)).toMatchObject({ runs: 0, history: 0 })
    })

    test('of two starts with one id in one batch exactly one is done, and the neighbours are untouched', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.reserve(4)
      const ids = ['same', 'left', 'same', 'right']

      const verdicts = await runtime.starts(
        ...iids.map((iid, i) => runtime.startItem(iid, { id: ids[i]! })),
      )

      expect([...verdicts].toSorted()).toEqual(['done', 'done', 'done', 'exists'])
      expect([verdicts[1], verdicts[3]]).toEqual(['done', 'done'])
      const [row] = await scene.store.find(['same'])
      expect(row?.iid).toBe(verdicts[0] === 'done' ? iids[0] : iids[2])
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 3 })
    })

    test('of two concurrent starts of one id exactly one gets it', async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      const [first, second] = [await a.reserve(10), await b.reserve(10)]
      const ids = Array.from({ length: 10 }, (_, i) => `contended ${i}`)

      const [left, right] = await Promise.all([
        a.starts(...first.map((iid, i) => a.startItem(iid, { id: ids[i]! }))),
        b.starts(...second.map((iid, i) => b.startItem(iid, { id: ids[9 - i]! }))),
      ])

      const rows = await scene.store.find(ids)
      for (let i = 0; i < 10; i++) {
        expect(new Set([left[i], right[9 - i]])).toEqual(new Set(['done', 'exists']))
        expect(rows[i]?.iid).toBe(left[i] === 'done' ? first[i] : second[9 - i])
      }
      const counts = [await a.tickAndCount(), await b.tickAndCount()]
      expect(counts[0]!.owned + counts[1]!.owned).toBe(10)
    })

    test('a number that another instance has is refused, and changes nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const before = await scene.state([iid], [runtime])

      const verdicts = await runtime.starts(runtime.startItem(iid, { id: 'another id' }))

      expect(verdicts).toEqual(['refused'])
      expect(await scene.state([iid], [runtime])).toEqual(before)
      expect(await scene.store.find(['another id'])).toEqual([undefined])
    })

    test('a client cannot own: such a batch is rejected whole', async () => {
      await using scene = await open()
      const [workflow] = await scene.store.workflowNumbers([{ name: 'order', version: '1' }])
      const first = await scene.store.reserve(2)
      const items = [
        startItem(first, { workflow: workflow!, owned: false, wakeAt: 0 }),
        startItem(first + 1, { workflow: workflow!, owned: true }),
      ]

      const error = await errorOf(scene.store.start(items))

      expect(error instanceof StoreError && error.code).toBe('rejected')
      expect(await scene.store.look([first, first + 1])).toEqual([undefined, undefined])
    })

    test('a thousand starts in one batch are a thousand instances', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.reserve(1_000)

      const verdicts = await runtime.starts(...iids.map((iid) => runtime.startItem(iid)))

      expect(verdicts.filter((verdict) => verdict === 'done').length).toBe(1_000)
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 1_000 })
      const owned = await scene.store.owned(runtime.runtime)
      expect(sorted(owned.map(({ iid }) => iid))).toEqual(iids)
    })

    test('a batch of nothing is answered with nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()

      expect(await runtime.commit({})).toMatchObject({ state: 'ok', starts: [], turns: [] })
      expect(await scene.store.start([])).toEqual([])
    })
  })
}
