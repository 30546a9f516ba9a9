import type { Next, TurnItem } from '../../store/commits.ts'
import { continuing, effects, END } from './items.ts'
import { type Contract, result, turnItem, turnRow } from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: 0 }
const HOLD: Next = { kind: 'suspend', report: '"broken"' }
const EFFECTS = effects({ state: [{ key: 'a', value: '1' }], progress: '"half"' })

/** Every kind of item, as a rightful owner would send it and as a stale one may not. */
const KINDS: Readonly<Record<string, Partial<TurnItem>>> = {
  'a turn': { turn: turnRow(2) },
  'a turn and a release': { turn: turnRow(2), next: RELEASE },
  'a turn and a hold': { turn: turnRow(2), next: HOLD },
  'a turn and an end': { turn: turnRow(2), next: END },
  'a release alone': { next: RELEASE },
  'a hold alone': { next: HOLD },
  'an end alone': { next: END },
  'a turn with effects': { turn: turnRow(2), effects: EFFECTS },
  'effects alone': { effects: EFFECTS },
  'a turn into the next execution': { turn: turnRow(2), next: continuing(1) },
}

/** Which runtime may write: each item is judged, and a refused item has no effect at all. */
export function describeJudgement({ describe, test, expect, open }: Contract): void {
  describe('judgement', () => {
    for (const [kind, item] of Object.entries(KINDS)) {
      test(`${kind} at a stale epoch has no effect at all`, async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const iid = await runtime.ownOne()
        await runtime.turns(turnItem(iid, { next: RELEASE }))
        await runtime.claim()
        await scene.store.send([result(iid, 1)])
        const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
        const before = await scene.state([iid], [runtime])

        const older = await runtime.turns(turnItem(iid, { ...item, epoch: 1, taken }))
        const newer = await runtime.turns(turnItem(iid, { ...item, epoch: 3, taken }))

        expect([older, newer]).toEqual([['refused'], ['refused']])
        expect(await scene.state([iid], [runtime])).toEqual(before)
      })

      test(`${kind} of a runtime that does not own the instance has no effect at all`, async () => {
        await using scene = await open()
        const owner = await scene.runtime()
        const stranger = await scene.otherRuntime()
        const iid = await owner.ownOne()
        await scene.store.send([result(iid, 1)])
        const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
        const before = await scene.state([iid], [owner, stranger])

        const verdicts = await stranger.turns(turnItem(iid, { ...item, taken }))

        expect(verdicts).toEqual(['refused'])
        expect(await scene.state([iid], [owner, stranger])).toEqual(before)
      })

      test(`${kind} of a suspended instance has no effect at all`, async () => {
        await using scene = await open()
        const owner = await scene.runtime()
        const iid = await owner.ownOne()
        await owner.turns(turnItem(iid, { next: { kind: 'suspend', report: '"first report"' } }))
        await scene.store.send([result(iid, 1)])
        const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
        const before = await scene.state([iid], [owner])

        await owner.turns(turnItem(iid, { ...item, taken }))
        await owner.turns(turnItem(iid, { ...item, taken, epoch: 2 }))

        expect(await scene.state([iid], [owner])).toEqual(before)
      })
    }

    test('an item for an instance that was released, ended or never existed is refused [test_invalid_lock_token_on_ack]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [released, ended] = await runtime.own(2)
      await runtime.turns(
        turnItem(released!, { next: RELEASE }),
        turnItem(ended!, { turn: turnRow(2), next: END }),
      )
      const [nobody] = await runtime.reserve(1)
      const iids = [released!, ended!, nobody!]
      const before = await scene.state(iids, [runtime])

      const verdicts = await runtime.turns(
        ...iids.map((iid) => turnItem(iid, { turn: turnRow(iid === ended ? 3 : 2) })),
      )

      expect(verdicts).toEqual(['refused', 'refused', 'refused'])
      expect(await scene.state(iids, [runtime])).toEqual(before)
    })

    test('a refused item leaves its neighbours untouched, and they it [test_cross_instance_lock_isolation]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      const [first, last] = await runtime.own(2)
      const [taken, tooNew] = await other.own(2)
      const before = await scene.state([taken!, tooNew!], [other])

      const verdicts = await runtime.turns(
        turnItem(first!, { turn: turnRow(2) }),
        turnItem(taken!, { turn: turnRow(2), next: END }),
        turnItem(tooNew!, { epoch: 9, next: RELEASE }),
        turnItem(last!, { turn: turnRow(2), next: END }),
      )

      expect(verdicts).toEqual(['done', 'refused', 'refused', 'done'])
      expect(await scene.state([taken!, tooNew!], [other])).toEqual(before)
      expect(await scene.turnsOf(first!)).toEqual([1, 2])
      expect((await scene.look(last!)).status).toBe('completed')
    })

    test('a turn in the place of one by an earlier owner is refused, and changes nothing [test_atomicity_failure_rollback]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(turnItem(iid, { next: RELEASE }))
      await runtime.claim()
      await scene.store.send([result(iid, 1)])
      const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
      const before = await scene.state([iid], [runtime])

      const turn = turnRow(1, { events: 'another past' })
      const verdicts = await runtime.turns(turnItem(iid, { epoch: 2, turn, taken, next: END }))

      expect(verdicts).toEqual(['refused'])
      expect(await scene.state([iid], [runtime])).toEqual(before)
    })

    test('a refused release leaves the owner where it is [test_lock_released_only_on_successful_ack]', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const stranger = await scene.otherRuntime()
      const iid = await owner.ownOne()

      await stranger.turns(turnItem(iid, { next: RELEASE }))

      expect(await stranger.claimed({ hinted: [iid] })).toEqual([])
      expect(await owner.turns(turnItem(iid, { turn: turnRow(2) }))).toEqual(['done'])
    })

    test('with a wrong epoch nothing is written, and the right one still counts [test_invalid_lock_token_rejection]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      for (const epoch of [0, 2, 3, 2_147_483_647]) {
        const wrong = await runtime.turns(turnItem(iid, { epoch, turn: turnRow(2) }))
        expect({ epoch, wrong }).toEqual({ epoch, wrong: ['refused'] })
      }

      expect(await runtime.turns(turnItem(iid, { turn: turnRow(2) }))).toEqual(['done'])
    })

    test('a batch for another server is answered with `verify` and the right one, and not applied', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const [fresh] = await runtime.reserve(1)
      const before = await scene.state([iid], [runtime])

      const answer = await scene.store.commit({
        ...runtime.batch({
          starts: [runtime.startItem(fresh!)],
          turns: [turnItem(iid, { turn: turnRow(2), next: END })],
        }),
        server: 'another server',
      })

      expect(answer).toMatchObject({ state: 'verify', server: runtime.server })
      expect(await scene.state([iid], [runtime])).toEqual(before)
      expect(await scene.store.look([fresh!])).toEqual([undefined])
    })

    test('an owner whose history was damaged can still write [test_corrupted_serialization_data]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.under.corrupt(iid)

      const verdicts = await runtime.turns(turnItem(iid, { next: HOLD }))

      expect(verdicts).toEqual(['done'])
      expect(await scene.look(iid)).toMatchObject({ status: 'suspended' })
    })
  })
}
