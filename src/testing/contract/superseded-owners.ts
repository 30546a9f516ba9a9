import type { Next, TurnItem } from '../../store/commits.ts'
import { childOf, continuing, effects, END, termination } from './items.ts'
import { type Contract, idOf, inTurn, result, turnItem, turnRow } from './scene.ts'

const RELEASE: Next = { kind: 'release', wakeAt: 0 }

/** Owners whose instance was suspended or terminated under them. */
export function describeSupersededOwners(contract: Contract): void {
  contract.describe('superseded owners', () => {
    describeSuspended(contract)
    describeTerminated(contract)
  })
}

/** Every kind of item that an owner may have on its way. */
const ITEMS: Readonly<Record<string, Partial<TurnItem>>> = {
  'a turn': { turn: turnRow(2) },
  'a turn after the next': { turn: turnRow(3) },
  'a turn and a release': { turn: turnRow(2), next: RELEASE },
  'a release': { next: RELEASE },
  'a hold': { next: { kind: 'suspend', report: '"broken"' } },
  'a turn and an end': { turn: turnRow(2), next: END },
  'a turn into the next execution': { turn: turnRow(2), next: continuing(1) },
  'a turn with effects': {
    turn: turnRow(2),
    effects: effects({ state: [{ key: 'a', value: '1' }], progress: '1', closes: 'all' }),
  },
  effects: { effects: effects({ state: [{ key: 'a', value: '1' }], progress: '1' }) },
}

function describeSuspended({ test, expect, open }: Contract): void {
  for (const [kind, item] of Object.entries(ITEMS)) {
    test(`${kind} of the former owner has no effect at all, before and after resuming`, async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const iid = await owner.ownOne()
      await scene.store.send([result(iid, 1)])
      const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
      await scene.store.suspend([idOf(iid)], '"why"')
      const suspended = await scene.state([iid], [owner])

      const verdicts = [...(await owner.turns(turnItem(iid, { ...item, taken })))]
      const still = await scene.state([iid], [owner])
      await scene.store.resume([idOf(iid)])
      const resumed = await scene.state([iid], [owner])
      verdicts.push(...(await owner.turns(turnItem(iid, { ...item, taken }))))

      expect(still).toEqual(suspended)
      expect(await scene.state([iid], [owner])).toEqual(resumed)
      expect(verdicts).toEqual(['refused', 'refused'])
      expect(
        await scene.store.verify(owner.runtime, [{ iid, epoch: 1, execution: 1, turn: 1 }]),
      ).toMatchObject({ same: [false] })
    })
  }

  test('a claim after resuming gets an epoch that no owner had before', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { turn: turnRow(2) }))

    await scene.store.suspend([idOf(iid)], '"why"')
    await scene.store.resume([idOf(iid)])
    const { claims } = await runtime.claim()

    expect(claims).toEqual([{ iid, epoch: 3, execution: 1, turn: 2, deaths: 0, doing: '' }])
    expect(await runtime.turns(turnItem(iid, { epoch: 3, turn: turnRow(3) }))).toEqual(['done'])
  })

  test('a turn that was committed before stays done when it is sent again', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const item = turnItem(iid, { turn: turnRow(2) })
    await runtime.turns(item)
    await scene.store.suspend([idOf(iid)], '"why"')
    const before = await scene.state([iid], [runtime])

    expect(await runtime.turns(item)).toEqual(['done'])

    expect(await scene.state([iid], [runtime])).toEqual(before)
  })

  test('an owner that keeps committing gets as far as the suspension, and no further', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.under.another()
    const iid = await owner.ownOne()

    const [verdicts, answers] = await Promise.all([
      inTurn(
        Array.from({ length: 20 }, (_, i) => i + 2),
        (turn) => owner.turns(turnItem(iid, { turn: turnRow(turn) })),
      ),
      other.suspend([idOf(iid)], '"why"'),
    ])

    const done = verdicts.flat().filter((verdict) => verdict === 'done').length
    expect(answers).toEqual([true])
    expect(verdicts.flat()).toEqual(verdicts.map((_, i) => (i < done ? 'done' : 'refused')))
    expect((await scene.turnsOf(iid)).length).toBe(done + 1)
    expect((await scene.look(iid)).status).toBe('suspended')
  })
}

function describeTerminated({ test, expect, open }: Contract): void {
  for (const [kind, item] of Object.entries(ITEMS)) {
    test(`${kind} of the former owner has no effect at all`, async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const parent = await owner.ownOne()
      const [iid] = await owner.ownChildren(childOf(parent))
      await scene.store.terminate([termination(iid!)])
      const before = await scene.state([parent, iid!], [owner])

      const verdicts = [
        ...(await owner.turns(turnItem(iid!, item))),
        ...(await owner.turns(turnItem(iid!, { ...item, epoch: 3 }))),
      ]

      expect(verdicts).toEqual(['refused', 'refused'])
      expect(await scene.state([parent, iid!], [owner])).toEqual(before)
    })
  }

  test('an end without a turn that comes too late changes nothing', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    await scene.store.terminate([termination(iid)])
    const before = await scene.state([iid], [owner])

    await owner.turns(turnItem(iid, { next: END }))

    expect(await scene.state([iid], [owner])).toEqual(before)
  })

  test('a turn that was committed before stays done when it is sent again', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await owner.ownOne()
    const item = turnItem(iid, { turn: turnRow(2) })
    await owner.turns(item)
    await scene.store.terminate([termination(iid)])

    expect(await owner.turns(item, turnItem(iid, { turn: turnRow(3) }))).toEqual([
      'done',
      'refused',
    ])

    expect(await scene.turnsOf(iid)).toEqual([1, 2, 3])
  })

  test('an owned start sent again is refused', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const [iid] = await owner.reserve(1)
    const start = owner.startItem(iid!)
    await owner.starts(start)
    await scene.store.terminate([termination(iid!)])

    expect(await owner.starts(start)).toEqual(['refused'])

    expect((await scene.look(iid!)).status).toBe('terminated')
  })

  test('an owner that keeps committing gets as far as the end, and no further', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.under.another()
    const iid = await owner.ownOne()

    const [verdicts, answers] = await Promise.all([
      inTurn(
        Array.from({ length: 20 }, (_, i) => i + 2),
        (turn) => owner.turns(turnItem(iid, { turn: turnRow(turn) })),
      ),
      other.terminate([termination(iid)]),
    ])

    const done = verdicts.flat().filter((verdict) => verdict === 'done').length
    expect(answers.ended).toEqual([true])
    expect(verdicts.flat()).toEqual(verdicts.map((_, i) => (i < done ? 'done' : 'refused')))
    const { history } = await scene.load(iid)
    expect(history.map(({ turn }) => turn)).toEqual(history.map((_, i) => i + 1))
    expect(history.length).toBe(done + 2)
    expect(history.at(-1)!.events).toBe(`terminated ${iid}`)
  })

  test('of two concurrent terminations one is answered that it ended the instance', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.under.another()
    const iids = await owner.own(10)

    const [{ ended: left }, { ended: right }] = await Promise.all([
      scene.store.terminate(iids.map((iid) => termination(iid, '"left"'))),
      other.terminate(iids.toReversed().map((iid) => termination(iid, '"right"'))),
    ])

    for (const [i, iid] of iids.entries()) {
      expect([left[i], right[9 - i]].filter(Boolean).length).toBe(1)
      expect((await scene.look(iid)).output).toBe(left[i] ? '"left"' : '"right"')
      expect(await scene.turnsOf(iid)).toEqual([1, 2])
    }
  })
}
