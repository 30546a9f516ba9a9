import { END, message } from './items.ts'
import { type Contract, idOf, result, sorted, turnItem, turnRow } from './scene.ts'

/** Instances that are suspended from outside, with or without an owner. */
export function describeSuspending(contract: Contract): void {
  contract.describe('suspending', () => {
    describeWhat(contract)
    describeMailbox(contract)
  })
}

function describeWhat({ test, expect, open }: Contract): void {
  test('suspending keeps the report, whether the instance is owned or not', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const later = (await scene.clock()) + 60_000
    const iids = [
      await runtime.ownOne(),
      ...(await scene.sleeping(runtime.workflows[0]!, [0, later, null])),
    ]
    await scene.under.advance(5_000)
    const clock = await scene.clock()

    expect(await scene.store.suspend(iids.map(idOf), '"by hand"')).toEqual(iids.map(() => true))

    await scene.under.advance(60_000)
    const rows = await scene.store.look(iids)
    for (const row of rows) {
      expect(row).toMatchObject({ status: 'suspended', report: '"by hand"', wakeAt: null })
      expect(row!.updatedAt).toBeGreaterThanOrEqual(clock)
    }
    expect(await runtime.claimed({ hinted: iids })).toEqual([])
    expect(await runtime.tickAndCount()).toMatchObject({
      owned: 0,
      claimable: false,
      nextDue: null,
    })
  })

  test('suspending again keeps the first report, and one resume is enough', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [suspended, held] = await runtime.own(2)
    const ids = [idOf(suspended!), idOf(held!)]
    await scene.store.suspend([ids[0]!], '"first"')
    await runtime.turns(turnItem(held!, { next: { kind: 'suspend', report: '"broken"' } }))
    const before = await scene.state([suspended!, held!], [runtime])

    expect(await scene.store.suspend(ids, '"second"')).toEqual([true, true])

    expect(await scene.state([suspended!, held!], [runtime])).toEqual(before)
    const rows = await scene.store.look([suspended!, held!])
    expect(rows.map((row) => row?.report)).toEqual(['"first"', '"broken"'])
    expect(await scene.store.resume(ids)).toBe(2)
    expect(sorted(await runtime.claimed())).toEqual([suspended!, held!])
  })

  test('instances that have ended or never existed are not suspended, the rest are', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [ended, running] = await runtime.own(2)
    await runtime.turns(turnItem(ended!, { turn: turnRow(2), next: END }))
    await scene.post(message('unstarted', '1'))
    const before = await scene.state([ended!], [])

    const answers = await scene.store.suspend(
      ['nobody', idOf(ended!), 'unstarted', idOf(running!)],
      '"why"',
    )

    expect(answers).toEqual([false, false, false, true])
    expect(await scene.state([ended!], [])).toEqual(before)
    expect(await scene.store.find(['nobody', 'unstarted'])).toMatchObject([
      undefined,
      { status: 'unstarted', report: null },
    ] as object)
    expect(await scene.store.suspend([], '"why"')).toEqual([])
  })
}

function describeMailbox({ test, expect, open }: Contract): void {
  test('mail collects while it is suspended, and is found after resuming', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await scene.store.suspend([idOf(iid)], '"why"')

    const verdicts = await scene.post(message(idOf(iid), 'a'), message(idOf(iid), 'b'))
    await scene.store.send([result(iid, 1)])
    const during = await runtime.claimed({ hinted: [iid] })
    const tick = await runtime.tick()
    await scene.store.resume([idOf(iid)])

    expect([verdicts, during]).toEqual([['sent', 'sent'], []])
    expect(tick).toMatchObject({ mail: [], claimable: false })
    expect(await runtime.claimed()).toEqual([iid])
    expect(await scene.waitingFor(iid)).toEqual(['message: a', 'message: b', 'completed: result 1'])
  })

  test('a message for one that is suspended names no owner', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await scene.store.suspend([idOf(iid)], '"why"')
    const unused = await scene.store.reserve(1)

    const answers = await scene.store.post([message(idOf(iid), 'a', { iid: unused })])

    expect(answers).toEqual([{ verdict: 'sent', iid, owner: null }])
  })

  test('the death of the former owner changes nothing', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await dead.ownOne()
    await scene.store.suspend([idOf(iid)], '"why"')

    expect(await scene.takeOver(dead, taker)).toEqual([])

    expect(await scene.look(iid)).toMatchObject({ status: 'suspended', report: '"why"' })
    expect(await scene.under.attempts(iid)).toBe(0)
  })
}
