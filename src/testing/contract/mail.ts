import { message } from './items.ts'
import { type Contract, ending, idOf, result, sorted, turnItem, turnRow } from './scene.ts'

/** What is sent to instances. */
export function describeMail({ describe, test, expect, open }: Contract): void {
  describe('mail', () => {
    test('mail is kept as it was sent, in the order of the sends', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      await scene.store.send([result(iid, 3, 'c'), { ...result(iid, 1, 'a'), kind: 'failed' }])
      await scene.store.send([result(iid, 2, 'b')])

      const row = { execution: 1, name: '', replyTo: '', parked: false }
      expect(await scene.contentsOf(iid)).toEqual([
        { ...row, kind: 'completed', command: 3, payload: 'c' },
        { ...row, kind: 'failed', command: 1, payload: 'a' },
        { ...row, kind: 'completed', command: 2, payload: 'b' },
      ])
      expect(new Set((await scene.inboxOf(iid)).map(({ id }) => id)).size).toBe(3)
    })

    test('of each channel about a megabyte is read at once, and one message at the least', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const sizes = { small: [400_000, 400_000, 400_000, 10], large: [3_000_000, 10] }
      for (const [name, lengths] of Object.entries(sizes)) {
        await scene.post(...lengths.map((n) => message(idOf(iid), 'x'.repeat(n), { name })))
      }
      await scene.store.send([1, 2].map((command) => result(iid, command, 'y'.repeat(2_000_000))))
      const readOf = async (channel: string): Promise<(number | undefined)[]> =>
        (await scene.inboxOf(iid))
          .filter(({ name }) => name === channel)
          .map(({ payload }) => payload?.length)

      expect(await readOf('small')).toEqual([400_000, 400_000, undefined, undefined])
      expect(await readOf('large')).toEqual([3_000_000, undefined])
      expect(await readOf('')).toEqual([2_000_000, 2_000_000])

      const taken = (await scene.inboxOf(iid))
        .filter(({ name, payload }) => name !== '' && payload !== null)
        .map(({ id }) => id)
      await runtime.turns(turnItem(iid, { turn: turnRow(2), taken }))

      expect(await readOf('small')).toEqual([400_000, 10])
      expect(await readOf('large')).toEqual([10])
    })

    test('the first result of a command wins, even within one call', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      await scene.store.send([result(iid, 1, 'first'), result(iid, 1, 'second')])
      await scene.store.send([
        { ...result(iid, 1, 'third'), kind: 'failed' },
        result(iid, 2, 'other'),
      ])

      expect((await scene.inboxOf(iid)).map(({ payload }) => payload)).toEqual(['first', 'other'])
    })

    test('of two senders at once with results for the same commands each command has one', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.under.another()
      const iids = await runtime.own(10)

      await Promise.all([
        scene.store.send(iids.map((iid) => result(iid, 1, 'a'))),
        other.send(iids.toReversed().map((iid) => result(iid, 1, 'b'))),
      ])

      const loaded = await scene.store.load(iids.map((iid) => ({ iid, after: 0 })))
      expect(loaded.map(({ inbox }) => inbox.length)).toEqual(iids.map(() => 1))
    })

    test('the same command of another execution is another one', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      await scene.store.send([result(iid, 1), { ...result(iid, 1), execution: 2 }])

      expect((await scene.inboxOf(iid)).map(({ execution }) => execution)).toEqual([1, 2])
    })

    test('mail for an instance that ended or never existed is dropped, the rest arrives [test_orphan_queue_messages_dropped]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [ended, running] = await runtime.own(2)
      const [nobody] = await runtime.reserve(1)
      const next = { kind: 'end', end: ending() } as const
      await runtime.turns(turnItem(ended!, { turn: turnRow(2), next }))

      await scene.store.send([result(ended!, 1), result(nobody!, 1), result(running!, 1)])

      expect((await scene.under.rows(ended!)).inbox).toBe(0)
      expect((await scene.under.rows(nobody!)).inbox).toBe(0)
      expect(await runtime.tick()).toMatchObject({ mail: [running], claimable: false })
    })

    test('sending creates no instance [test_no_instance_creation_on_enqueue]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await runtime.reserve(1)

      await scene.store.send([result(iid!, 1)])

      expect(await scene.under.rows(iid!)).toMatchObject({ instances: 0, runs: 0, inbox: 0 })
      expect(await runtime.claimed({ hinted: [iid!] })).toEqual([])
    })

    test('a result and the turn that used it up are one [test_worker_ack_atomicity]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [null])
      await scene.store.send([result(iid!, 1)])
      await runtime.claim()
      const taken = (await scene.inboxOf(iid!)).map(({ id }) => id)

      await runtime.turns(
        turnItem(iid!, { turn: turnRow(2), taken, next: { kind: 'release', wakeAt: null } }),
      )

      expect([await scene.turnsOf(iid!), await scene.inboxOf(iid!)]).toEqual([[1, 2], []])
      expect(await runtime.tick()).toMatchObject({ claimable: false })
    })

    test('a number of a message is never used again', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const seen = new Set<number>()

      for (let command = 1; command <= 5; command++) {
        await scene.store.send([result(iid, command)])
        const [row] = await scene.inboxOf(iid)
        seen.add(row!.id)
        await runtime.turns(turnItem(iid, { taken: [row!.id] }))
      }

      expect(seen.size).toBe(5)
    })

    test('senders and a committing owner do not block each other', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const sender = await scene.under.another()
      const iid = await owner.ownOne()

      const [verdicts] = await Promise.all([
        (async () => {
          const all: string[] = []
          for (let turn = 2; turn < 22; turn++) {
            all.push(...(await owner.turns(turnItem(iid, { turn: turnRow(turn) }))))
          }
          return all
        })(),
        ...Array.from({ length: 20 }, (_, i) => sender.send([result(iid, i + 1)])),
      ])

      expect(verdicts.every((verdict) => verdict === 'done')).toBe(true)
      expect(sorted((await scene.inboxOf(iid)).map(({ command }) => command))).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      )
    })

    test('mail that meets a release is never stranded', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const sender = await scene.under.another()
      const iids = await runtime.own(30)

      await Promise.all([
        ...iids.map((iid) => sender.send([result(iid, 1)])),
        ...iids.map((iid) =>
          runtime.turns(turnItem(iid, { next: { kind: 'release', wakeAt: null } })),
        ),
      ])

      expect(sorted(await runtime.claimed())).toEqual(iids)
    })

    test('a thousand results in one call all arrive', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [one, other] = await runtime.own(2)

      await scene.store.send(
        Array.from({ length: 1_000 }, (_, i) => result(i % 2 === 0 ? one! : other!, i)),
      )
      await scene.store.send([])

      const inbox = await scene.inboxOf(one!)
      expect(inbox.map(({ command }) => command)).toEqual(
        Array.from({ length: 500 }, (_, i) => i * 2),
      )
      expect((await scene.inboxOf(other!)).length).toBe(500)
    })
  })
}
