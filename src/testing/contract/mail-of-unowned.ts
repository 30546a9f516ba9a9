import { early, message } from './items.ts'
import { type Contract, idOf, result, sorted, turnItem, turnRow } from './scene.ts'

/** Mail that is not read for a while: ticks park it, and none of it is lost. */
export function describeMailOfUnowned({ describe, test, expect, open }: Contract): void {
  describe('mail of unowned instances', () => {
    test('early messages wait for the start as mail, whichever runtime ticked before', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const [owned, free] = [await early(scene, 'owned'), await early(scene, 'free')]
      await runtime.tick()

      await runtime.starts(runtime.startItem(owned, { id: 'owned' }))
      await scene.store.start([runtime.startItem(free, { id: 'free', owned: false })])

      expect(await scene.inboxOf(owned)).toMatchObject([{ parked: false }])
      expect(await scene.inboxOf(free)).toMatchObject([{ parked: false }])
      expect(await runtime.tick()).toMatchObject({ mail: [owned], claimable: true })
      expect(await runtime.claimed()).toEqual([free])
    })

    test('mail of a suspended instance is read after it is resumed, and so is later mail', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await scene.store.suspend([idOf(iid)], '"by hand"')
      await scene.post(message(idOf(iid), 'while suspended'))
      expect(await runtime.tick()).toMatchObject({ claimable: false, nextDue: null })
      await scene.post(message(idOf(iid), 'later'))

      await scene.store.resume([idOf(iid)])

      expect(await runtime.claimed()).toEqual([iid])
      expect(await scene.waitingFor(iid)).toEqual(['message: while suspended', 'message: later'])
    })

    test('mail for a workflow that no runtime here has is found by one that has it', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iids = await runtime.own(2)
      await runtime.turns(
        ...iids.map((iid) =>
          turnItem(iid, { turn: turnRow(2), next: { kind: 'release', wakeAt: null } }),
        ),
      )
      await scene.post(message(idOf(iids[0]!), 'note'))
      await scene.store.send([result(iids[1]!, 1, 'done')])
      const stranger = await scene.otherRuntime(['other'])

      const seen = await stranger.tick()

      expect(seen).toMatchObject({ claimable: false, nextDue: null, mail: [] })
      expect(await stranger.claimed({ hinted: iids })).toEqual([])
      expect(await runtime.tick()).toMatchObject({ claimable: true })
      expect(sorted(await runtime.claimed())).toEqual(iids)
      expect(await scene.waitingFor(iids[0]!)).toEqual(['message: note'])
      expect(await scene.waitingFor(iids[1]!)).toEqual(['completed: done'])
    })

    test('mail does not bring a first turn forward, and is there when it falls due', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const due = (await scene.clock()) + 60_000
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [due])
      await scene.post(message(idOf(iid!), 'early'))

      const before = await runtime.tick()
      const claimedBefore = await runtime.claimed({ hinted: [iid!] })
      await scene.under.advance(61_000)

      expect(before).toMatchObject({ claimable: false, nextDue: due })
      expect(claimedBefore).toEqual([])
      expect(await runtime.claimed()).toEqual([iid])
      expect(await scene.waitingFor(iid!)).toEqual(['message: early'])
    })

    test('mail that was parked so is not mail for the owner that reads it anyway', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(
        turnItem(iid, { turn: turnRow(2), next: { kind: 'release', wakeAt: null } }),
      )
      await scene.post(message(idOf(iid), 'first'))
      await runtime.tick()
      await runtime.claim()

      const afterClaim = await runtime.tick()
      await scene.post(message(idOf(iid), 'second'))

      expect(afterClaim).toMatchObject({ mail: [], claimable: false })
      expect(await runtime.tick()).toMatchObject({ mail: [iid] })
    })
  })
}
