import { continuing, END, message, stop } from './items.ts'
import { type Contract, idOf, PAST_LEASE_MS, result, turnItem, turnRow } from './scene.ts'

/** An instance that continues in its next execution. */
export function describeContinues(contract: Contract): void {
  contract.describe('executions', () => {
    describeSteps(contract)
    describeInbox(contract)
    describeRefusal(contract)
  })
}

function describeSteps({ test, expect, open }: Contract): void {
  test('the last turn of one execution and the first of the next are one step [test_continue_as_new_creates_new_execution]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)

    const verdicts = await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    expect(verdicts).toEqual(['done'])
    expect(await scene.load(iid)).toMatchObject({
      execution: 2,
      history: [turnRow(1, { execution: 2, events: 'life 2' })],
    })
    expect(await scene.store.history(iid, 1)).toEqual([turnRow(1), turnRow(2)])
    expect(await scene.look(iid)).toMatchObject({ execution: 2, status: 'running', output: null })
  })

  test('an owner that keeps it continues at its epoch', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)

    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    expect(await scene.store.owned(runtime.runtime)).toEqual([
      { iid, epoch: 1, execution: 2, turn: 1, deaths: 0, doing: '' },
    ])
    expect(await other.claimed({ hinted: [iid] })).toEqual([])
    const turn = turnRow(2, { execution: 2 })
    expect(await runtime.turns(turnItem(iid, { turn, next: END }))).toEqual(['done'])
    expect(await scene.look(iid)).toMatchObject({ execution: 2, status: 'completed' })
  })

  test('an instance that is not kept is due at once, for any runtime [test_execution_id_sequencing]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!, { keep: false })

    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    expect(await runtime.tickAndCount()).toMatchObject({ owned: 0, claimable: true })
    expect((await other.claim()).claims).toEqual([
      { iid, epoch: 2, execution: 2, turn: 1, deaths: 0, doing: '' },
    ])
    const turn = turnRow(2, { execution: 2 })
    expect(await runtime.turns(turnItem(iid, { turn }))).toEqual(['refused'])
    expect(await other.turns(turnItem(iid, { epoch: 2, turn }))).toEqual(['done'])
  })

  test('the next execution may be of another workflow', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const newer = await scene.otherRuntime(['invoice'])
    const [kept, free] = await runtime.own(2)
    const invoice = newer.workflows[0]!

    await runtime.turns(
      turnItem(kept!, { turn: turnRow(2), next: continuing(invoice) }),
      turnItem(free!, { turn: turnRow(2), next: continuing(invoice, { keep: false }) }),
    )

    const workflow = { name: 'invoice', version: '1' }
    expect(await scene.store.look([kept!, free!])).toMatchObject([{ workflow }, { workflow }])
    expect((await scene.load(kept!)).workflow).toEqual(workflow)
    expect(await runtime.claimed({ hinted: [free!] })).toEqual([])
    expect(await newer.claimed()).toEqual([free])
    // One that was kept is that workflow's too, once it is free.
    await runtime.turns(turnItem(kept!, { next: { kind: 'release', wakeAt: 0 } }))
    expect(await runtime.claimed()).toEqual([])
    expect(await newer.claimed()).toEqual([kept])
  })

  test('continuing is progress: the count of deaths is reset', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const [a, b] = await dead.own(2)
    const taker = await scene.otherRuntime()
    await scene.takeOver(dead, taker)
    const workflow = taker.workflows[0]!

    await taker.turns(
      turnItem(a!, { epoch: 2, turn: turnRow(2), next: continuing(workflow) }),
      turnItem(b!, { epoch: 2, turn: turnRow(2), next: continuing(workflow, { keep: false }) }),
    )

    expect([await scene.under.attempts(a!), await scene.under.attempts(b!)]).toEqual([0, 0])
  })

  test('a cached instance of the previous execution is no longer the same', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    const { same } = await scene.store.verify(runtime.runtime, [
      { iid, epoch: 1, execution: 2, turn: 1 },
      { iid, epoch: 1, execution: 2, turn: 2 },
      { iid, epoch: 1, execution: 1, turn: 2 },
    ])

    expect(same.slice(0, 2)).toEqual([true, false])
  })
}

function describeInbox({ test, expect, open }: Contract): void {
  test('messages and requests stay, results of the previous execution are removed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const id = idOf(iid)
    await scene.post(message(id, 'a'), stop(id, 'cancel'), stop(id, 'terminate'))
    await scene.store.send([
      result(iid, 1),
      { ...result(iid, 2), kind: 'failed' },
      { ...result(iid, 1, 'early'), execution: 2 },
    ])
    await scene.post(message(id, 'b'))

    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    expect(await scene.waitingFor(iid)).toEqual([
      'message: a',
      'cancel: "enough"',
      'terminate: "enough"',
      'completed: early',
      'message: b',
    ])
  })

  test('messages that wait are counted over executions [test_get_instance_stats_carry_forward]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await scene.post(...['a', 'b', 'c'].map((payload) => message(idOf(iid), payload)))
    const [first] = await scene.inboxOf(iid)

    const next = continuing(runtime.workflows[0]!, { keep: false })
    await runtime.turns(turnItem(iid, { turn: turnRow(2), taken: [first!.id], next }))

    expect((await scene.look(iid)).mail).toBe(2)
    expect(await scene.waitingFor(iid)).toEqual(['message: b', 'message: c'])
  })

  test('results of another instance that continues or stays are not touched', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [going, staying] = await runtime.own(2)
    await scene.store.send([result(going!, 1), result(staying!, 1)])

    await runtime.turns(
      turnItem(staying!, { turn: turnRow(2) }),
      turnItem(going!, { turn: turnRow(2), next: continuing(runtime.workflows[0]!) }),
    )

    expect([await scene.waitingFor(going!), await scene.waitingFor(staying!)]).toEqual([
      [],
      ['completed: result 1'],
    ])
  })
}

function describeRefusal({ test, expect, open }: Contract): void {
  for (const keep of [true, false]) {
    test(`a step that is sent again is recognised, and changes nothing (${keep ? 'kept' : 'not kept'})`, async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      const next = continuing(runtime.workflows[0]!, { keep })
      const item = turnItem(iid, { turn: turnRow(2), next })
      await runtime.turns(item)
      await scene.store.send([{ ...result(iid, 1), execution: 2 }])
      const before = await scene.state([iid], [runtime])

      expect(await runtime.turns(item)).toEqual(['done'])
      expect(await scene.state([iid], [runtime])).toEqual(before)

      await runtime.claim()
      const turn = turnRow(2, { execution: 2 })
      const epoch = keep ? 1 : 2
      await runtime.turns(turnItem(iid, { epoch, turn, next: END }))
      expect(await runtime.turns(item)).toEqual(['done'])
      expect(await scene.look(iid)).toMatchObject({ execution: 2, status: 'completed' })
    })
  }

  test('a refused step has no effect at all', async () => {
    await using scene = await open()
    const stale = await scene.runtime()
    const taker = await scene.otherRuntime(['invoice', 'order'])
    const iid = await stale.ownOne()
    await scene.store.send([result(iid, 1)])
    await scene.post(message(idOf(iid), 'a'))
    await stale.turns(turnItem(iid, { next: { kind: 'release', wakeAt: 0 } }))
    await taker.claim()
    const before = await scene.state([iid], [stale, taker])

    for (const keep of [true, false]) {
      const next = continuing(taker.workflows[0]!, { keep })
      const item = turnItem(iid, { turn: turnRow(2), next })
      expect(await stale.turns(item)).toEqual(['refused'])
      expect(await taker.turns({ ...item, epoch: 1 })).toEqual(['refused'])
    }

    expect(await scene.state([iid], [stale, taker])).toEqual(before)
    expect(await scene.store.history(iid, 2)).toEqual([])
  })

  test('an instance whose owner died after continuing is taken over in the new execution', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const iid = await dead.ownOne()
    const next = continuing(dead.workflows[0]!)
    await dead.turns(turnItem(iid, { turn: turnRow(2), next }))
    await scene.under.advance(PAST_LEASE_MS)
    const taker = await scene.runtime()

    const claims = await scene.takeOver(dead, taker)

    expect(claims).toEqual([{ iid, epoch: 2, execution: 2, turn: 1, deaths: 1, doing: '' }])
  })
}
