import type { Next } from '../../store/commits.ts'
import { message } from './items.ts'
import {
  type Actor,
  type Contract,
  idOf,
  inTurn,
  postTo,
  sorted,
  turnItem,
  turnRow,
} from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: null }

/** Several concurrent senders, and owners that commit meanwhile. */
export function describeSenders({ describe, test, expect, open }: Contract): void {
  describe('senders', () => {
    test('messages of one sender stay in order while others post and the owner commits', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const sender = await scene.under.another()
      const iid = await owner.ownOne()
      const rounds = Array.from({ length: 15 }, (_, i) => i)

      const [verdicts] = await Promise.all([
        inTurn(rounds, (i) => owner.turns(turnItem(iid, { turn: turnRow(i + 2) }))),
        inTurn(rounds, (i) => postTo(sender, [message(idOf(iid), `a${i}`)])),
        inTurn(rounds, (i) => scene.post(message(idOf(iid), `b${i}`), message(idOf(iid), `c${i}`))),
      ])

      const payloads = (await scene.inboxOf(iid)).map(({ payload }) => payload!)
      expect(verdicts.flat().filter((verdict) => verdict !== 'done')).toEqual([])
      expect(payloads.filter((payload) => payload.startsWith('a'))).toEqual(
        rounds.map((i) => `a${i}`),
      )
      expect(payloads.filter((payload) => !payload.startsWith('a'))).toEqual(
        rounds.flatMap((i) => [`b${i}`, `c${i}`]),
      )
    })

    test('a message that meets a release is never stranded', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const sender = await scene.under.another()
      const iids = await runtime.own(30)

      await Promise.all([
        ...iids.map((iid) => postTo(sender, [message(idOf(iid), '1')])),
        ...iids.map((iid) => runtime.turns(turnItem(iid, { next: RELEASE }))),
      ])

      expect(sorted(await runtime.claimed())).toEqual(iids)
    })

    test('a thousand messages in one call all arrive, in order', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [one, other] = await runtime.own(2)

      const verdicts = await scene.post(
        ...Array.from({ length: 1_000 }, (_, i) =>
          message(idOf(i % 2 === 0 ? one! : other!), `${i}`),
        ),
      )

      expect(verdicts.filter((verdict) => verdict === 'sent').length).toBe(1_000)
      expect((await scene.inboxOf(one!)).map(({ payload }) => payload)).toEqual(
        Array.from({ length: 500 }, (_, i) => `${i * 2}`),
      )
      expect((await scene.look(other!)).mail).toBe(500)
    })

    test('of two concurrent sends with one key exactly one arrives', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.under.another()
      const iids = await runtime.own(10)
      const posts = iids.map((iid) => message(idOf(iid), '1', { dedupeKey: 'k' }))

      const [left, right] = await Promise.all([
        postTo(scene.store, posts),
        postTo(other, posts.toReversed()),
      ])

      for (const [i, iid] of iids.entries()) {
        const verdicts = new Set([left[i]!.verdict, right[9 - i]!.verdict])
        expect(verdicts).toEqual(new Set(['sent', 'duplicate']))
        expect((await scene.inboxOf(iid)).length).toBe(1)
      }
    })

    test('two concurrent first senders meet at one instance', async () => {
      await using scene = await open()
      const other = await scene.under.another()
      const ids = Array.from({ length: 10 }, (_, i) => `early ${i}`)

      const [left, right] = await Promise.all([
        postTo(
          scene.store,
          ids.map((id) => message(id, 'a')),
        ),
        postTo(
          other,
          ids.toReversed().map((id) => message(id, 'b')),
        ),
      ])

      const rows = await scene.store.find(ids)
      for (const [i, row] of rows.entries()) {
        expect(row).toMatchObject({ status: 'unstarted', mail: 2 })
        expect([left[i], right[9 - i]]).toEqual([
          { verdict: 'sent', iid: row!.iid, owner: null },
          { verdict: 'sent', iid: row!.iid, owner: null },
        ])
      }
    })

    test('a message and a start that meet both arrive, whichever is first', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const sender = await scene.under.another()
      const ids = Array.from({ length: 20 }, (_, i) => `meeting ${i}`)

      await Promise.all([
        inTurn(ids, (id) => postTo(sender, [message(id, '1')])),
        inTurn(ids, (id) => startAnyhow(runtime, id)),
      ])

      const rows = await scene.store.find(ids)
      expect(rows.map((row) => [row?.status, row?.mail])).toEqual(ids.map(() => ['running', 1]))
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 20 })
    })
  })
}

/** Starts an instance, under the number that it has already if messages came first. */
async function startAnyhow(runtime: Actor, id: string): Promise<void> {
  let [iid] = await runtime.reserve(1)
  for (;;) {
    const [verdict] = await runtime.starts(runtime.startItem(iid!, { id }))
    // While the message has locked the id, the start can only be repeated.
    if (verdict === 'locked' || verdict === 'untried') continue
    if (verdict !== 'unstarted') return
    const [row] = await runtime.store.find([id])
    iid = row!.iid
  }
}
