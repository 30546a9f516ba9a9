import type { Effects } from '../../store/commits.ts'
import { continuing, effects, END, message } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'

const HOUR_MS = 3_600_000

/** Answers to requests. */
export function describeReplies({ describe, test, expect, open }: Contract): void {
  describe('replies', () => {
    test('a reply is found by the address that the request named', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.under.another()
      const iid = await runtime.ownOne()
      await scene.post(message(idOf(iid), '1', { replyTo: 'address 1' }))
      const [request] = await scene.inboxOf(iid)

      await runtime.turns(
        turnItem(iid, {
          turn: turnRow(2),
          taken: [request!.id],
          effects: replying({ [request!.replyTo]: '"yes"', 'address 2': '' }),
        }),
      )

      expect(await other.replies(['address 2', 'nowhere', 'address 1', 'address 2'])).toEqual([
        '',
        undefined,
        '"yes"',
        '',
      ])
      expect(await scene.store.replies([])).toEqual([])
    })

    test('there is no reply before the workflow replies', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      await scene.post(message(idOf(iid), '1', { replyTo: 'address' }))

      expect(await scene.store.replies(['address'])).toEqual([undefined])
    })

    test('the first reply wins, even within one turn and between instances', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [a, b] = await runtime.own(2)
      const replies = [
        { to: 'address', payload: 'first' },
        { to: 'address', payload: 'second' },
        { to: 'other', payload: 'other' },
      ]

      await runtime.turns(turnItem(a!, { turn: turnRow(2), effects: effects({ replies }) }))
      const verdicts = await runtime.turns(
        turnItem(a!, { turn: turnRow(3), effects: replying({ address: 'third' }) }),
        turnItem(b!, { turn: turnRow(2), effects: replying({ address: 'fourth' }) }),
      )

      expect(verdicts).toEqual(['done', 'done'])
      expect(await scene.store.replies(['address', 'other'])).toEqual(['first', 'other'])
    })

    test('a turn that ends, continues or only begins may reply', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [ended, continued] = await runtime.own(2)
      const [begun] = await runtime.reserve(1)
      const next = continuing(runtime.workflows[0]!)

      await runtime.starts(runtime.startItem(begun!, { effects: replying({ c: '3' }) }))
      await runtime.turns(
        turnItem(ended!, { turn: turnRow(2), effects: replying({ a: '1' }), next: END }),
        turnItem(continued!, { turn: turnRow(2), effects: replying({ b: '2' }), next }),
      )

      expect(await scene.store.replies(['a', 'b', 'c'])).toEqual(['1', '2', '3'])
    })

    test('a refused item sends no reply', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const stranger = await scene.otherRuntime()
      const iid = await owner.ownOne()

      const verdicts = [
        ...(await stranger.turns(
          turnItem(iid, { turn: turnRow(2), effects: replying({ address: 'stranger' }) }),
        )),
        ...(await owner.turns(
          turnItem(iid, { epoch: 2, effects: replying({ address: 'stale' }) }),
        )),
      ]

      expect(verdicts).toEqual(['refused', 'refused'])
      expect(await scene.store.replies(['address'])).toEqual([undefined])
      await owner.turns(turnItem(iid, { effects: replying({ address: 'owner' }) }))
      expect(await scene.store.replies(['address'])).toEqual(['owner'])
    })

    test('a reply outlives the instance that gave it, and is there for an hour at least', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(
        turnItem(iid, { turn: turnRow(2), effects: replying({ address: '1' }), next: END }),
      )
      await scene.store.remove([idOf(iid)])

      await scene.under.advance(HOUR_MS - 60_000)
      await (await scene.runtime()).tick()

      expect(await scene.store.replies(['address'])).toEqual(['1'])
    })

    test('a reply that was never fetched is removed by the ticks after that', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(turnItem(iid, { effects: replying({ old: '1' }) }))
      await scene.under.advance(HOUR_MS + 60_000)
      const later = await scene.runtime()
      const fresh = await later.ownOne()
      await later.turns(turnItem(fresh, { effects: replying({ young: '2' }) }))

      await later.tick()

      expect(await scene.store.replies(['old', 'young'])).toEqual([undefined, '2'])
    })
  })
}

/** Replies, each payload by its address. */
function replying(payloads: Readonly<Record<string, string>>): Effects {
  return effects({
    replies: Object.entries(payloads).map(([to, payload]) => ({ to, payload })),
  })
}
