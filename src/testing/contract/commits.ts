import type { Next } from '../../store/commits.ts'
import { type Contract, ending, PAST_LEASE_MS, result, sorted, turnItem, turnRow } from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: 0 }
const HOLD: Next = { kind: 'suspend', report: '"broken"' }
const END: Next = { kind: 'end', end: ending() }

/** What owners write. */
export function describeCommits({ describe, test, expect, open }: Contract): void {
  describe('commits', () => {
    test('a turn is appended and its owner keeps the instance [test_lock_renewal_on_ack]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const row = turnRow(2, { at: 5_000, first: 2, count: 3, events: 'three events' })

      const verdicts = await runtime.turns(turnItem(iid, { turn: row }))

      expect(verdicts).toEqual(['done'])
      expect((await scene.load(iid)).history).toEqual([turnRow(1), row])
      expect(await scene.store.owned(runtime.runtime)).toEqual([
        { iid, epoch: 1, execution: 1, turn: 2, deaths: 0, doing: '' },
      ])
    })

    test('all effects of one batch are there together [test_multi_operation_atomic_ack]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [kept, released, held, ended] = await runtime.own(4)
      await scene.store.send([result(kept!, 1), result(kept!, 2), result(ended!, 1)])
      const [first] = await scene.inboxOf(kept!)
      const [fresh] = await runtime.reserve(1)
      const clock = await scene.clock()
      const wakeAt = clock + 60_000

      const answer = await runtime.commit({
        starts: [runtime.startItem(fresh!)],
        turns: [
          turnItem(kept!, { turn: turnRow(2), taken: [first!.id] }),
          turnItem(released!, { turn: turnRow(2), next: { kind: 'release', wakeAt } }),
          turnItem(held!, { turn: turnRow(2), next: HOLD }),
          turnItem(ended!, { turn: turnRow(2), next: END }),
        ],
      })

      expect(answer).toMatchObject({
        state: 'ok',
        starts: ['done'],
        turns: ['done', 'done', 'done', 'done'],
      })
      for (const iid of [kept!, released!, held!, ended!]) {
        expect(await scene.turnsOf(iid)).toEqual([1, 2])
      }
      expect((await scene.inboxOf(kept!)).map(({ command }) => command)).toEqual([2])
      expect(await scene.store.look([kept!, released!, held!, ended!])).toMatchObject([
        { status: 'running', wakeAt: null },
        { status: 'running', wakeAt },
        { status: 'suspended', wakeAt: null, report: '"broken"' },
        { status: 'completed', wakeAt: null, output: '"done"', report: null },
      ])
      const owned = await scene.store.owned(runtime.runtime)
      expect(sorted(owned.map(({ iid }) => iid))).toEqual(sorted([kept!, fresh!]))
    })

    test('a released instance is free at once, and can be claimed again [test_abandon_releases_lock_immediately]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      const [with_, without] = await runtime.own(2)

      await runtime.turns(
        turnItem(with_!, { turn: turnRow(2), next: RELEASE }),
        turnItem(without!, { next: RELEASE }),
      )

      const { claims } = await other.claim()
      expect(claims.toSorted((a, b) => a.iid - b.iid)).toEqual([
        { iid: with_, epoch: 2, execution: 1, turn: 2, deaths: 0, doing: '' },
        { iid: without, epoch: 2, execution: 1, turn: 1, deaths: 0, doing: '' },
      ])
    })

    test('an instance that is released until later is not claimed before that time [test_abandon_work_item_with_delay]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const wakeAt = (await scene.clock()) + 60_000
      await runtime.turns(turnItem(iid, { next: { kind: 'release', wakeAt } }))

      const early = await runtime.claimed({ hinted: [iid] })
      await scene.under.advance(60_000)
      const late = await runtime.claimed()

      expect([early, late]).toEqual([[], [iid]])
    })

    test('an ended instance leaves its history and its result, and no inbox or tasks', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.store.send([result(iid, 1), result(iid, 2)])

      await runtime.turns(turnItem(iid, { turn: turnRow(2), next: END }))

      expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, history: 2, inbox: 0 })
      expect(await scene.under.attempts(iid)).toBe(undefined)
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 0, mail: [], claimable: false })
      await scene.under.advance(PAST_LEASE_MS)
      expect(await runtime.claimed({ hinted: [iid] })).toEqual([])
    })

    test('an item may take mail, and nothing else', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.store.send([result(iid, 1), result(iid, 2)])
      const [first] = await scene.inboxOf(iid)

      expect(await runtime.turns(turnItem(iid, { taken: [first!.id] }))).toEqual(['done'])

      expect((await scene.inboxOf(iid)).map(({ command }) => command)).toEqual([2])
      expect(await scene.turnsOf(iid)).toEqual([1])
    })

    test('only the named mail is taken; later mail stays [test_ack_only_affects_locked_messages]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.store.send([result(iid, 1)])
      const seen = (await scene.inboxOf(iid)).map(({ id }) => id)
      await scene.store.send([result(iid, 2), result(iid, 3)])

      await runtime.turns(turnItem(iid, { turn: turnRow(2), taken: seen }))

      expect((await scene.inboxOf(iid)).map(({ command }) => command)).toEqual([2, 3])
    })

    test('an item takes no mail of another instance', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [mine, other] = await runtime.own(2)
      await scene.store.send([result(other!, 1)])
      const [row] = await scene.inboxOf(other!)

      await runtime.turns(turnItem(mine!, { turn: turnRow(2), taken: [row!.id] }))

      expect(await scene.inboxOf(other!)).toEqual([row])
    })

    test('mail that came before a release makes the instance claimable, whatever its time [test_message_tagging_during_lock]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      const iid = await runtime.ownOne()
      await other.store.send([result(iid, 1)])

      await runtime.turns(turnItem(iid, { next: { kind: 'release', wakeAt: null } }))

      expect(await other.claimed()).toEqual([iid])
      expect((await scene.inboxOf(iid)).length).toBe(1)
    })

    test('a thousand turns in one batch are judged one by one', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.own(1_000)
      const epochs = iids.map((_, i) => (i % 7 === 0 ? 2 : 1))

      const verdicts = await runtime.turns(
        ...iids.map((iid, i) => turnItem(iid, { turn: turnRow(2), epoch: epochs[i]! })),
      )

      expect(verdicts).toEqual(epochs.map((epoch) => (epoch === 1 ? 'done' : 'refused')))
      const loaded = await scene.store.load(iids.map((iid) => ({ iid, after: 1 })))
      expect(loaded.map(({ history }) => history.length)).toEqual(
        epochs.map((epoch) => (epoch === 1 ? 1 : 0)),
      )
    })
  })
}
