import type { StartItem } from '../../store/commits.ts'
import { childOf, early, message } from './items.ts'
import { type Contract, ending, turnItem, turnRow } from './scene.ts'

/** Starts of instances that messages came for before. */
export function describeLateStarts({ describe, test, expect, open }: Contract): void {
  describe('late starts', () => {
    test('a start under its number makes it live, with all that came before', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await early(scene, 'early', ['1', '2'])
      await scene.under.advance(60_000)
      const clock = await scene.clock()
      const [parent] = await runtime.own()

      const verdicts = await runtime.starts(
        runtime.startItem(iid, {
          id: 'early',
          parent: childOf(parent!),
          labels: '{"a":"b"}',
          messages: [{ name: 'notes', payload: '3' }],
        }),
      )

      expect(verdicts).toEqual(['done'])
      expect(await scene.look(iid)).toMatchObject({
        status: 'running',
        workflow: { name: 'order', version: '1' },
        parent: childOf(parent!),
        labels: '{"a":"b"}',
        mail: 3,
      })
      expect((await scene.look(iid)).createdAt).toBeGreaterThanOrEqual(clock)
      expect((await scene.load(iid)).history).toEqual([turnRow(1)])
      expect(await scene.waitingFor(iid)).toEqual(['message: 1', 'message: 2', 'message: 3'])
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 2, mail: [iid] })
      expect(await runtime.turns(turnItem(iid, { turn: turnRow(2) }))).toEqual(['done'])
    })

    test('one that a client starts is claimable for its messages', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await early(scene, 'early')

      const item = runtime.startItem(iid, { id: 'early', owned: false })
      expect(await scene.store.start([item])).toEqual(['done'])

      expect((await runtime.claim()).claims).toEqual([
        { iid, epoch: 1, execution: 1, turn: 1, deaths: 0, doing: '' },
      ])
    })

    test('one that ends within its first turn leaves its messages behind', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await scene.store.reserve(1)
      await scene.store.post([message('early', '1', { iid, dedupeKey: 'k' })])

      const item = runtime.startItem(iid, { id: 'early', end: ending() })
      expect(await runtime.starts(item)).toEqual(['done'])

      expect(await scene.look(iid)).toMatchObject({ status: 'completed', mail: 0 })
      expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, inbox: 0, posted: 1 })
    })

    test('a start under another number is answered so, and writes nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await early(scene, 'early')
      const [mine, clients, neighbour] = await runtime.reserve(3)
      const before = await scene.state([iid], [runtime])

      const committed = await runtime.starts(
        runtime.startItem(mine!, { id: 'early', messages: [{ name: 'notes', payload: '2' }] }),
        runtime.startItem(neighbour!),
      )
      const started = await scene.store.start([
        runtime.startItem(clients!, { id: 'early', owned: false, wakeAt: 0 }),
      ])

      expect([committed, started]).toEqual([['unstarted', 'done'], ['unstarted']])
      expect((await scene.state([iid], [])).rows).toEqual(before.rows)
      expect(await scene.store.look([mine!, clients!])).toEqual([undefined, undefined])
      expect(await scene.under.rows(mine!)).toMatchObject({ runs: 0, history: 0, inbox: 0 })
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 1, claimable: false })
    })

    test('of two starts in a batch, the one under its number makes it live', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [plain, labelled] = [await early(scene, 'plain'), await early(scene, 'labelled')]
      const [other, another] = await runtime.reserve(2)

      await runtime.starts(
        runtime.startItem(other!, { id: 'plain' }),
        runtime.startItem(plain, { id: 'plain', owned: false, wakeAt: 0 }),
      )
      await runtime.starts(
        runtime.startItem(another!, { id: 'labelled', labels: '{"a":"b"}' }),
        runtime.startItem(labelled, { id: 'labelled' }),
      )

      expect(await scene.store.find(['plain', 'labelled'])).toMatchObject([
        { iid: plain, status: 'scheduled', mail: 1 },
        { iid: labelled, status: 'running', mail: 1 },
      ])
      expect(await scene.store.look([other!, another!])).toEqual([undefined, undefined])
      for (const iid of [other!, another!]) {
        expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, history: 0 })
      }
    })

    test('a sender that does not own its parent is refused, and its messages stay', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const stale = await scene.otherRuntime()
      const parent = await owner.ownOne()
      const iid = await early(scene, 'early')
      const child = owner.startItem(iid, { id: 'early', parent: childOf(parent) })

      expect(await stale.starts(child)).toEqual(['refused'])
      await stale.tick()

      expect(await scene.store.find(['early'])).toMatchObject([{ iid, status: 'unstarted' }])
      expect(await owner.starts(child)).toEqual(['done'])
      expect((await scene.inboxOf(iid)).length).toBe(1)
    })

    test('its number with another id is refused, and changes nothing', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await early(scene, 'early')
      const before = await scene.state([iid], [runtime])

      expect(await runtime.starts(runtime.startItem(iid, { id: 'other' }))).toEqual(['refused'])

      expect(await scene.state([iid], [runtime])).toEqual(before)
      expect(await scene.store.find(['other'])).toEqual([undefined])
    })

    test('the start that made it live is recognised when it is sent again', async () => {
      await using scene = await open()
      const stale = await scene.runtime()
      const taker = await scene.otherRuntime()
      const [owned, free] = [await early(scene, 'owned'), await early(scene, 'free')]
      const items: readonly StartItem[] = [
        stale.startItem(owned, { id: 'owned', messages: [{ name: 'notes', payload: '2' }] }),
        stale.startItem(free, { id: 'free', owned: false }),
      ]
      await stale.starts(...items)
      const before = await scene.state([owned, free], [stale])

      const again = await stale.starts(...items)
      const after = await scene.state([owned, free], [stale])
      await scene.takeOver(stale, taker)
      const reborn = await scene.runtime()

      expect([again, after]).toEqual([['done', 'done'], before])
      expect(await reborn.starts(...items)).toEqual(['refused', 'done'])
    })
  })
}
