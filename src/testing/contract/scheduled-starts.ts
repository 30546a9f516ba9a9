import { message, stop } from './items.ts'
import { type Contract, idOf, sorted, startItem, turnItem, turnRow } from './scene.ts'

/** Starts whose time has not come. */
export function describeScheduledStarts({ describe, test, expect, open }: Contract): void {
  describe('scheduled starts', () => {
    test('a start is shown as scheduled until a runtime has claimed it', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [later, now, never] = await scene.sleeping(runtime.workflows[0]!, [wakeAt, 0, null])
      const statuses = async () =>
        (await scene.store.look([later!, now!, never!])).map((row) => row?.status)

      const before = await statuses()
      await runtime.claim()
      const during = await statuses()
      await scene.under.advance(60_000)
      await runtime.claim()

      expect(before).toEqual(['scheduled', 'scheduled', 'scheduled'])
      expect(during).toEqual(['scheduled', 'running', 'scheduled'])
      expect(await statuses()).toEqual(['running', 'running', 'scheduled'])
    })

    test('find and look agree on it', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [wakeAt])

      const row = await scene.look(iid!)

      expect(row).toMatchObject({ status: 'scheduled', wakeAt })
      expect(await scene.store.find([idOf(iid!)])).toEqual([row])
    })

    test('one that ran and sleeps is running, not scheduled', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const owned = await runtime.ownOne()
      const [claimed] = await scene.sleeping(runtime.workflows[0]!, [0])
      await runtime.claim()
      const wakeAt = (await scene.clock()) + 60_000

      await runtime.turns(
        ...[owned, claimed!].map((iid) => turnItem(iid, { next: { kind: 'release', wakeAt } })),
      )

      const rows = await scene.store.look([owned, claimed!])
      expect(rows.map((row) => [row?.status, row?.wakeAt])).toEqual([
        ['running', wakeAt],
        ['running', wakeAt],
      ])
    })

    test('a message does not make it run before its time', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [wakeAt])

      await scene.post(message(idOf(iid!), '1'))
      const before = await runtime.claimed({ hinted: [iid!] })
      const answer = await runtime.tick()

      expect(await scene.look(iid!)).toMatchObject({ status: 'scheduled', mail: 1 })
      expect([before, answer]).toMatchObject([[], { claimable: false, nextDue: wakeAt }])
      await scene.under.advance(60_000)
      expect(await runtime.claimed()).toEqual([iid])
      expect((await scene.load(iid!)).inbox.length).toBe(1)
    })

    test('one that slept within its first turn is running, and a message wakes it', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const iid = await scene.store.reserve(1)
      const workflow = runtime.workflows[0]!
      const slept = startItem(iid, {
        workflow,
        owned: false,
        wakeAt,
        turn: turnRow(1, { count: 2 }),
      })
      await scene.store.start([slept])

      const { status } = await scene.look(iid)
      await scene.post(message(idOf(iid), '1'))

      expect(status).toBe('running')
      expect(await runtime.claimed()).toEqual([iid])
    })

    test('one that is suspended and resumed before its time keeps that time', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [wakeAt])

      await scene.store.suspend([idOf(iid!)], '"why"')
      await scene.store.suspend([idOf(iid!)], '"again"')
      const resumed = await scene.store.resume([idOf(iid!)])

      expect(resumed).toBe(1)
      expect(await scene.look(iid!)).toMatchObject({ status: 'scheduled', wakeAt, report: null })
      expect(await runtime.claimed({ hinted: [iid!] })).toEqual([])
      expect(await runtime.tick()).toMatchObject({ claimable: false, nextDue: wakeAt })
      await scene.under.advance(60_000)
      expect(await runtime.claimed()).toEqual([iid])
    })

    test('one whose time came while it was suspended is due when it is resumed', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [iid] = await scene.sleeping(runtime.workflows[0]!, [wakeAt])
      await scene.store.suspend([idOf(iid!)], '"why"')
      await scene.under.advance(60_000)

      await scene.store.resume([idOf(iid!)])

      expect(await scene.look(iid!)).toMatchObject({ status: 'scheduled' })
      expect(await runtime.claimed()).toEqual([iid])
    })

    test('a request to end does not wait for its start time, even when it was suspended', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [before, during] = await scene.sleeping(runtime.workflows[0]!, [wakeAt, wakeAt])
      const ids = [idOf(before!), idOf(during!)]

      await scene.post(stop(ids[0]!, 'cancel'))
      await scene.store.suspend(ids, '"why"')
      await scene.post(stop(ids[1]!, 'terminate'))
      const suspended = await runtime.claimed({ hinted: [before!, during!] })
      await scene.store.resume(ids)

      expect(suspended).toEqual([])
      expect(sorted(await runtime.claimed())).toEqual([before, during])
    })

    test('one that ran is not scheduled again by being suspended', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const wakeAt = (await scene.clock()) + 60_000
      await runtime.turns(turnItem(iid, { next: { kind: 'release', wakeAt } }))

      await scene.store.suspend([idOf(iid)], '"why"')
      await scene.store.resume([idOf(iid)])

      expect(await scene.look(iid)).toMatchObject({ status: 'running' })
      expect((await runtime.claim()).claims).toMatchObject([{ iid, epoch: 3 }])
    })

    test('one that is suspended or terminated before its time is shown as that', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const wakeAt = (await scene.clock()) + 60_000
      const [suspended, ended] = await scene.sleeping(runtime.workflows[0]!, [wakeAt, wakeAt])

      await scene.store.suspend([idOf(suspended!)], '"why"')
      await scene.store.terminate([{ id: idOf(ended!), output: '""', events: 'terminated' }])

      const rows = await scene.store.look([suspended!, ended!])
      expect(rows.map((row) => row?.status)).toEqual(['suspended', 'terminated'])
      await scene.under.advance(60_000)
      expect(await runtime.claimed({ hinted: [suspended!, ended!] })).toEqual([])
    })
  })
}
