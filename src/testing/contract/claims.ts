import { type Contract, ending, PAST_LEASE_MS, result, sorted, turnItem, turnRow } from './scene.ts'

/** Which runtime gets which instances, in which order; and what is suspended. */
export function describeClaims(contract: Contract): void {
  contract.describe('claims', () => {
    describeChoice(contract)
    describeHolding(contract)
  })
}

function describeChoice({ test, expect, open }: Contract): void {
  test('within a workflow the longest due is claimed first [test_worker_queue_fifo_ordering]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [c, a, b] = await scene.sleeping(runtime.workflows[0]!, [30, 10, 20])

    const one = await runtime.claimed({ limit: 1 })
    const rest = await runtime.claimed()

    expect([one, rest]).toEqual([[a], [b, c]])
  })

  test('instances that are not due are skipped [test_worker_delayed_visibility_skips_future_items]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const clock = await scene.clock()
    const [later, now] = await scene.sleeping(runtime.workflows[0]!, [clock + 60_000, clock])

    const early = await runtime.claimed()
    await scene.under.advance(60_000)
    const late = await runtime.claimed()

    expect([early, late]).toEqual([[now], [later]])
  })

  test('an instance that is due later is claimed from that time on [test_timer_delayed_visibility]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const clock = await scene.clock()
    const [iid] = await scene.sleeping(runtime.workflows[0]!, [clock + 5_000])

    expect(await runtime.claimed({ hinted: [iid!] })).toEqual([])
    await scene.under.advance(5_000)
    expect(await runtime.claimed()).toEqual([iid])
  })

  test('a claim says when the next one falls due, even if that is now', async () => {
    await using scene = await open()
    const runtime = await scene.runtime({ workflows: ['order', 'invoice'] })
    const [order, invoice] = runtime.workflows as [number, number]
    const later = (await scene.store.now()) + 3_600_000
    await scene.sleeping(order, [0, 1, later + 5])
    await scene.sleeping(invoice, [later])

    const first = await runtime.claim({ limit: 1 })
    const second = await runtime.claim({ limit: 10 })
    const of = await runtime.claim({ workflows: [order] })
    const none = await runtime.claim({ workflows: [] })

    expect(first.nextDue).toBe(1)
    expect(second).toMatchObject({ nextDue: later })
    expect(of.nextDue).toBe(later + 5)
    expect(none.nextDue).toBe(null)
  })

  test('a claim takes as many as it asks for, and no more', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iids = await scene.sleeping(
      runtime.workflows[0]!,
      Array.from({ length: 10 }, (_, i) => i),
    )

    expect(await runtime.claimed({ limit: 0, hinted: iids })).toEqual([])
    expect(await runtime.claimed({ limit: 4 })).toEqual(iids.slice(0, 4))
    expect(sorted(await runtime.claimed({ limit: 3, hinted: iids })).length).toBe(3)
    expect((await runtime.claimed({ limit: 100 })).length).toBe(3)
    expect(await runtime.claimed()).toEqual([])
  })

  test('a long backlog of one workflow does not keep another one waiting', async () => {
    await using scene = await open()
    const runtime = await scene.runtime({ workflows: ['order', 'invoice'] })
    const [order, invoice] = runtime.workflows as [number, number]
    await scene.sleeping(
      order,
      Array.from({ length: 20 }, (_, i) => i),
    )
    const late = await scene.sleeping(invoice, [1_000, 1_001])

    const two = await runtime.claimed({ limit: 2 })
    const four = await runtime.claimed({ limit: 4 })

    expect([two.length, four.length]).toEqual([2, 4])
    expect(two.filter((iid) => late.includes(iid))).toEqual([late[0]])
    expect(four.filter((iid) => late.includes(iid))).toEqual([late[1]])
  })

  test('with fewer slots than workflows, none waits forever', async () => {
    await using scene = await open()
    const names = ['a', 'b', 'c', 'd']
    const runtime = await scene.runtime({ workflows: names })
    for (const workflow of runtime.workflows) await scene.sleeping(workflow, [0, 1, 2, 3])
    const seen = new Set<string>()

    for (let round = 0; round < 8; round++) {
      const [iid] = await runtime.claimed({ limit: 1 })
      if (round < 8) seen.add((await scene.load(iid!)).workflow.name)
    }

    expect([...seen].toSorted()).toEqual(names)
  })

  test('workflows that the claim does not name are never touched [test_filter_with_empty_supported_versions_returns_nothing]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime({ workflows: ['order', 'invoice'] })
    const [order, invoice] = runtime.workflows as [number, number]
    const [due, waiting] = await scene.sleeping(invoice, [0, null])
    await scene.store.send([result(due!, 1), result(waiting!, 1)])

    const hinted = [due!, waiting!]
    expect(await runtime.claimed({ workflows: [order], hinted })).toEqual([])
    expect(await runtime.claimed({ workflows: [], hinted })).toEqual([])
    expect(sorted(await runtime.claimed({ workflows: [invoice] }))).toEqual(sorted(hinted))
  })

  test('another version is another workflow [test_fetch_with_incompatible_filter_skips_item]', async () => {
    await using scene = await open()
    const old = await scene.runtime()
    const [number] = await scene.store.workflowNumbers([{ name: 'order', version: '2' }])
    const [iid] = await scene.sleeping(number!, [0])

    expect(await old.claimed({ hinted: [iid!] })).toEqual([])
    expect(await old.claimed({ workflows: [number!] })).toEqual([iid])
  })

  test('an instance with mail is claimable, due or not', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const clock = await scene.clock()
    const [waiting, quiet] = await scene.sleeping(runtime.workflows[0]!, [null, null])
    const sleeping = await runtime.ownOne()
    await runtime.turns(turnItem(sleeping, { next: { kind: 'release', wakeAt: clock + 60_000 } }))
    await scene.store.send([result(waiting!, 1), result(sleeping, 1), result(sleeping, 2)])

    const { claims } = await runtime.claim()

    expect(sorted(claims.map(({ iid }) => iid))).toEqual(sorted([waiting!, sleeping]))
    expect(await runtime.claimed({ hinted: [quiet!] })).toEqual([])
    expect((await scene.look(sleeping)).wakeAt).toBe(null)
  })

  test('a hinted instance comes first, once, and only if it is due or has mail', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const clock = await scene.clock()
    const [early, due, mailed, asleep] = await scene.sleeping(runtime.workflows[0]!, [
      1,
      2,
      null,
      clock + 60_000,
    ])
    await scene.store.send([result(mailed!, 1)])

    const hinted = [asleep!, due!, due!, mailed!, 123_456_789]
    const first = await runtime.claimed({ limit: 2, hinted })
    const second = await runtime.claimed({ hinted })

    expect(sorted(first)).toEqual(sorted([due!, mailed!]))
    expect(second).toEqual([early])
  })

  test('a claim raises the epoch and returns the last turn of the instance [test_lock_token_uniqueness]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()

    const epochs: number[] = []
    for (const turn of [2, 3, 4]) {
      const epoch = epochs.at(-1) ?? 1
      const next = { kind: 'release', wakeAt: 0 } as const
      await runtime.turns(turnItem(iid, { epoch, turn: turnRow(turn), next }))
      const [claim] = (await runtime.claim()).claims
      expect(claim).toEqual({ iid, epoch: epoch + 1, execution: 1, turn, deaths: 0, doing: '' })
      epochs.push(claim!.epoch)
    }

    expect(epochs).toEqual([2, 3, 4])
  })
}

function describeHolding({ test, expect, open }: Contract): void {
  test('a suspended instance is never claimed, whatever arrives for it', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { next: { kind: 'suspend', report: '"why"' } }))
    await scene.store.send([result(iid, 1)])
    await scene.under.advance(PAST_LEASE_MS)

    expect(await other.tickAndCount()).toMatchObject({ claimable: false, nextDue: null, owned: 0 })
    expect(await other.claimed({ hinted: [iid] })).toEqual([])
    expect(await scene.look(iid)).toMatchObject({ status: 'suspended', report: '"why"' })
    expect((await scene.inboxOf(iid)).length).toBe(1)
  })

  test('a resumed instance is due at once, with its mail and no deaths counted', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const runtime = await scene.otherRuntime()
    const iid = await dead.ownOne()
    await scene.takeOver(dead, runtime)
    await runtime.turns(turnItem(iid, { epoch: 2, next: { kind: 'suspend', report: '"why"' } }))
    await scene.store.send([result(iid, 1)])
    const [row] = await scene.store.look([iid])

    const resumed = await scene.store.resume([row!.id])

    expect(resumed).toBe(1)
    expect(await scene.look(iid)).toMatchObject({ status: 'running', report: null })
    expect((await runtime.claim()).claims).toEqual([
      { iid, epoch: 3, execution: 1, turn: 1, deaths: 0, doing: '' },
    ])
    expect((await scene.inboxOf(iid)).length).toBe(1)
  })

  test('resuming counts those that were suspended, once each, and touches no others', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b, running, ended] = await runtime.own(4)
    const next = { kind: 'suspend', report: '"why"' } as const
    await runtime.turns(
      turnItem(a!, { next }),
      turnItem(b!, { turn: turnRow(2), next }),
      turnItem(ended!, { turn: turnRow(2), next: { kind: 'end', end: ending() } }),
    )
    const before = await scene.state([running!, ended!], [runtime])
    const ids = (await scene.store.look([a!, b!, running!, ended!])).map((row) => row!.id)

    const first = await scene.store.resume([...ids, ids[0]!, 'nobody'])
    const second = await scene.store.resume(ids)

    expect([first, second, await scene.store.resume([])]).toEqual([2, 0, 0])
    expect(await scene.state([running!, ended!], [runtime])).toEqual(before)
    expect(sorted(await runtime.claimed())).toEqual([a!, b!])
  })

  test('a suspended instance is not freed by the death of its last owner', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await dead.ownOne()
    await dead.turns(turnItem(iid, { next: { kind: 'suspend', report: '"why"' } }))

    expect(await scene.takeOver(dead, taker)).toEqual([])

    expect(await scene.look(iid)).toMatchObject({ status: 'suspended', report: '"why"' })
  })
}
