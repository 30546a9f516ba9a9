import type { Next } from '../../store/commits.ts'
import { continuing, effects, message } from './items.ts'
import { type Contract, idOf, result, type Scene, turnItem, turnRow } from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: null }

/** Messages that no code waits for so far. */
export function describeParking({ describe, test, expect, open }: Contract): void {
  describe('parking', () => {
    test('parked mail stays, and no longer makes the instance claimable', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a', 'b')

      const verdicts = await runtime.turns(
        turnItem(iid, { turn: turnRow(2), effects: effects({ parked }), next: RELEASE }),
      )

      expect(verdicts).toEqual(['done'])
      expect(await runtime.tick()).toMatchObject({ claimable: false, nextDue: null })
      expect(await runtime.claimed({ hinted: [iid] })).toEqual([])
      expect(await scene.inboxOf(iid)).toMatchObject([
        { id: parked[0], payload: 'a', parked: true },
        { id: parked[1], payload: 'b', parked: true },
      ])
      expect((await scene.look(iid)).mail).toBe(2)
    })

    test('an owner learns only of new mail, not of what it has parked', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a')

      await runtime.turns(turnItem(iid, { effects: effects({ parked }) }))
      const quiet = await runtime.tickAndCount()
      await scene.post(message(idOf(iid), 'b'))

      expect(quiet).toMatchObject({ mail: [], owned: 1 })
      expect(await runtime.tick()).toMatchObject({ mail: [iid] })
    })

    test('a message that comes beside parked ones wakes the instance, and all are read in order', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a', 'b')
      await runtime.turns(turnItem(iid, { effects: effects({ parked }), next: RELEASE }))

      await scene.post(message(idOf(iid), 'c'))

      expect(await runtime.claimed()).toEqual([iid])
      expect((await scene.inboxOf(iid)).map((row) => [row.payload, row.parked])).toEqual([
        ['a', true],
        ['b', true],
        ['c', false],
      ])
    })

    test('a result beside parked messages wakes the instance as well', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a')
      await runtime.turns(turnItem(iid, { effects: effects({ parked }), next: RELEASE }))

      await scene.store.send([result(iid, 1)])

      expect(await runtime.claimed()).toEqual([iid])
    })

    test('mail that arrived after the owner read is not parked with the rest', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a')
      await scene.post(message(idOf(iid), 'b'))

      await runtime.turns(turnItem(iid, { effects: effects({ parked }), next: RELEASE }))

      expect((await scene.inboxOf(iid)).map((row) => row.parked)).toEqual([true, false])
      expect(await runtime.claimed()).toEqual([iid])
    })

    test('a parked message is taken by a later turn, whichever runtime owns the instance then', async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const taker = await scene.otherRuntime()
      const iid = await dead.ownOne()
      const parked = await posted(scene, iid, 'a', 'b')
      await dead.turns(turnItem(iid, { effects: effects({ parked }) }))
      await scene.takeOver(dead, taker)

      const taken = [parked[0]!]
      await taker.turns(turnItem(iid, { epoch: 2, turn: turnRow(2), taken, next: RELEASE }))

      expect(await scene.waitingFor(iid)).toEqual(['message: b'])
      expect(await taker.claimed({ hinted: [iid] })).toEqual([])
    })

    test('parked messages stay parked over executions, sleep and suspension', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a')
      const next = continuing(runtime.workflows[0]!, { keep: false })

      await runtime.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ parked }), next }))
      await runtime.claim()
      await runtime.turns(turnItem(iid, { epoch: 2, next: { kind: 'suspend', report: '"why"' } }))
      await scene.store.resume([idOf(iid)])
      await runtime.claim()

      expect(await scene.inboxOf(iid)).toMatchObject([{ payload: 'a', parked: true }])
      expect(await runtime.tickAndCount()).toMatchObject({ owned: 1, mail: [] })
    })

    test('a refused item parks nothing', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const stranger = await scene.otherRuntime()
      const iid = await owner.ownOne()
      const parked = await posted(scene, iid, 'a')
      const item = turnItem(iid, { turn: turnRow(2), effects: effects({ parked }) })

      const verdicts = [
        ...(await stranger.turns(item)),
        ...(await owner.turns({ ...item, epoch: 2 })),
        ...(await owner.turns({ ...item, epoch: 2, turn: null })),
      ]

      expect(verdicts).toEqual(['refused', 'refused', 'refused'])
      expect(await scene.inboxOf(iid)).toMatchObject([{ payload: 'a', parked: false }])
      expect(await owner.tick()).toMatchObject({ mail: [iid] })
    })

    test('a turn that is recognised from before parks nothing more', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const [first, second] = await posted(scene, iid, 'a', 'b')
      const item = turnItem(iid, { turn: turnRow(2), effects: effects({ parked: [first!] }) })
      await runtime.turns(item)

      const again = await runtime.turns({ ...item, effects: effects({ parked: [second!] }) })

      expect(again).toEqual(['done'])
      expect((await scene.inboxOf(iid)).map((row) => row.parked)).toEqual([true, false])
    })

    test('an item parks nothing of another instance', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [mine, other] = await runtime.own(2)
      const parked = await posted(scene, other!, 'a')

      await runtime.turns(turnItem(mine!, { turn: turnRow(2), effects: effects({ parked }) }))

      expect(await scene.inboxOf(other!)).toMatchObject([{ payload: 'a', parked: false }])
      expect(await runtime.tick()).toMatchObject({ mail: [other] })
    })

    test('parking mail that is gone is harmless', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const parked = await posted(scene, iid, 'a')
      await runtime.turns(turnItem(iid, { taken: parked }))

      const verdicts = await runtime.turns(
        turnItem(iid, { turn: turnRow(2), effects: effects({ parked: [...parked, 123_456_789] }) }),
      )

      expect(verdicts).toEqual(['done'])
      expect(await scene.inboxOf(iid)).toEqual([])
    })
  })
}

/** Posts messages to an instance, and returns their numbers. */
async function posted(scene: Scene, iid: number, ...payloads: string[]): Promise<number[]> {
  await scene.post(...payloads.map((payload) => message(idOf(iid), payload)))
  return (await scene.inboxOf(iid)).map((row) => row.id)
}
