import type { OnParentClose } from '../../store/instances.ts'
import { childOf, continuing, effects, END, stop } from './items.ts'
import { type Contract, idOf, turnItem, turnRow } from './scene.ts'

const POLICIES: readonly OnParentClose[] = ['cancel', 'terminate', 'abandon', 'independent']
const CANCEL = ['cancel: "parent closed"']
const TERMINATE = ['terminate: "parent closed"']

/** What parents do to their children. */
export function describeCloses(contract: Contract): void {
  contract.describe('closing children', () => {
    describeWhom(contract)
    describeOnce(contract)
  })
}

function describeWhom({ test, expect, open }: Contract): void {
  test('children of the commands that are named are closed, each as its link says', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const named = await runtime.ownChildren(
      ...POLICIES.map((onClose, i) => childOf(parent, { onClose, command: i + 1 })),
    )
    const others = await runtime.ownChildren(
      ...POLICIES.map((onClose, i) => childOf(parent, { onClose, command: i + 11 })),
    )

    const verdicts = await runtime.turns(
      turnItem(parent, { turn: turnRow(2), effects: effects({ closes: [4, 3, 2, 1, 99] }) }),
    )

    expect(verdicts).toEqual(['done'])
    const waiting = await Promise.all(named.map((iid) => scene.waitingFor(iid)))
    expect(waiting).toEqual([CANCEL, TERMINATE, [], []])
    const elsewhere = await Promise.all(others.map((iid) => scene.waitingFor(iid)))
    expect(elsewhere).toEqual([[], [], [], []])
  })

  test('a request that closes a child is an ordinary row of its inbox', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [owned] = await runtime.ownChildren(childOf(parent))
    const [free] = await runtime.reserve(1)
    await runtime.starts(
      runtime.startItem(free!, { parent: childOf(parent, { command: 2 }), owned: false }),
    )

    await runtime.turns(turnItem(parent, { effects: effects({ closes: [1, 2] }) }))

    expect(await scene.contentsOf(owned!)).toEqual([
      {
        kind: 'cancel',
        execution: 0,
        command: 0,
        name: '',
        replyTo: '',
        payload: '"parent closed"',
        parked: false,
      },
    ])
    expect(await runtime.tick()).toMatchObject({ mail: [owned], claimable: true })
    expect(await runtime.claimed()).toEqual([free])
  })

  test('commands are those of the execution of the turn', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [first, second] = await runtime.ownChildren(
      childOf(parent, { execution: 1 }),
      childOf(parent, { execution: 2 }),
    )
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(parent, { turn: turnRow(2), next }))

    const turn = turnRow(2, { execution: 2 })
    await runtime.turns(turnItem(parent, { turn, effects: effects({ closes: [1] }) }))

    expect([await scene.waitingFor(first!), await scene.waitingFor(second!)]).toEqual([[], CANCEL])
  })

  test('the last turn of an execution closes children of that one', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [closed, kept] = await runtime.ownChildren(
      childOf(parent, { command: 1 }),
      childOf(parent, { command: 2 }),
    )

    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(
      turnItem(parent, { turn: turnRow(2), effects: effects({ closes: [1] }), next }),
    )

    expect([await scene.waitingFor(closed!), await scene.waitingFor(kept!)]).toEqual([CANCEL, []])
  })

  test('closing all means the unfinished children of any execution, but not their children', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [parent, stranger] = await runtime.own(2)
    const [old, current, gone, abandoned] = await runtime.ownChildren(
      childOf(parent!, { execution: 1, onClose: 'terminate' }),
      childOf(parent!, { execution: 2, command: 9 }),
      childOf(parent!, { execution: 2, command: 2 }),
      childOf(parent!, { execution: 2, command: 3, onClose: 'abandon' }),
    )
    const [grandchild, nephew] = await runtime.ownChildren(childOf(current!), childOf(stranger!))
    await runtime.turns(
      turnItem(parent!, { turn: turnRow(2), next: continuing(runtime.workflows[0]!) }),
      turnItem(gone!, { turn: turnRow(2), next: END }),
    )

    const turn = turnRow(2, { execution: 2 })
    await runtime.turns(turnItem(parent!, { turn, effects: effects({ closes: 'all' }), next: END }))

    expect(await scene.waitingFor(old!)).toEqual(TERMINATE)
    expect(await scene.waitingFor(current!)).toEqual(CANCEL)
    expect(await scene.under.rows(gone!)).toMatchObject({ runs: 0, inbox: 0 })
    for (const iid of [abandoned!, grandchild!, nephew!, stranger!]) {
      expect(await scene.waitingFor(iid)).toEqual([])
    }
  })

  test('an end that closes no child leaves the children alone', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [one, other] = await runtime.own(2)
    const children = await runtime.ownChildren(childOf(one!), childOf(other!))

    await runtime.turns(
      turnItem(one!, { turn: turnRow(2), next: END }),
      turnItem(other!, { turn: turnRow(2), effects: effects({}), next: END }),
    )

    for (const child of children) expect(await scene.waitingFor(child)).toEqual([])
  })

  test('a child that starts in the batch that closes it is closed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.reserve(1)

    await runtime.commit({
      starts: [runtime.startItem(child!, { parent: childOf(parent) })],
      turns: [turnItem(parent, { turn: turnRow(2), effects: effects({ closes: [1] }) })],
    })

    expect(await scene.waitingFor(child!)).toEqual(CANCEL)
  })

  test('a child whose parent ended before its start arrived is closed with the start', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const alive = await runtime.ownOne()
    await runtime.turns(turnItem(parent, { turn: turnRow(2), next: END }))

    const late = await runtime.ownChildren(
      ...POLICIES.map((onClose, i) => childOf(parent, { onClose, command: i + 1 })),
      childOf(alive),
    )

    const waiting = await Promise.all(late.map((iid) => scene.waitingFor(iid)))
    expect(waiting).toEqual([CANCEL, TERMINATE, [], [], []])
  })

  test('a child that ends in the batch that closes it leaves nothing behind', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [one, other] = await runtime.own(2)
    const [first, second] = await runtime.ownChildren(childOf(one!), childOf(other!))
    const closing = { turn: turnRow(2), effects: effects({ closes: [1] }) }
    const ended = { turn: turnRow(2), next: END }

    await runtime.turns(
      turnItem(one!, closing),
      turnItem(first!, ended),
      turnItem(second!, ended),
      turnItem(other!, closing),
    )

    expect(await scene.under.rows(first!)).toMatchObject({ runs: 0, inbox: 0 })
    expect(await scene.under.rows(second!)).toMatchObject({ runs: 0, inbox: 0 })
  })
}

function describeOnce({ test, expect, open }: Contract): void {
  test('a child does not get a request that already waits for it', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    await scene.post(stop(idOf(child!), 'cancel', '"by hand"'))

    await runtime.turns(
      turnItem(parent, { turn: turnRow(2), effects: effects({ closes: [1, 1] }) }),
    )
    await runtime.turns(turnItem(parent, { turn: turnRow(3), effects: effects({ closes: 'all' }) }))

    expect(await scene.waitingFor(child!)).toEqual(['cancel: "by hand"'])
  })

  test('a request of another kind does not prevent it', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent, { onClose: 'terminate' }))
    await scene.post(stop(idOf(child!), 'cancel'))

    await runtime.turns(turnItem(parent, { effects: effects({ closes: [1] }) }))

    expect(await scene.waitingFor(child!)).toEqual(['cancel: "enough"', ...TERMINATE])
  })

  test('a cancel after the parent has closed the child is a duplicate', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    await runtime.turns(turnItem(parent, { effects: effects({ closes: [1] }) }))

    expect(await scene.post(stop(idOf(child!), 'cancel'))).toEqual(['duplicate'])

    expect(await scene.waitingFor(child!)).toEqual(CANCEL)
  })

  test('a turn that is recognised from before closes no child again', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [parent, ended] = await runtime.own(2)
    const children = await runtime.ownChildren(childOf(parent!), childOf(ended!))
    const items = [
      turnItem(parent!, { turn: turnRow(2), effects: effects({ closes: [1] }) }),
      turnItem(ended!, { turn: turnRow(2), effects: effects({ closes: 'all' }), next: END }),
    ]
    await runtime.turns(...items)
    for (const child of children) {
      const taken = (await scene.inboxOf(child)).map(({ id }) => id)
      await runtime.turns(turnItem(child, { taken }))
      expect(taken.length).toBe(1)
    }

    expect(await runtime.turns(...items)).toEqual(['done', 'done'])

    for (const child of children) expect(await scene.waitingFor(child)).toEqual([])
  })

  test('a refused item closes no child', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    const closing = effects({ closes: 'all' })

    const verdicts = [
      ...(await stranger.turns(turnItem(parent, { turn: turnRow(2), effects: closing }))),
      ...(await stranger.turns(turnItem(parent, { effects: closing, next: END }))),
      ...(await runtime.turns(turnItem(parent, { epoch: 2, effects: closing }))),
    ]

    expect(verdicts).toEqual(['refused', 'refused', 'refused'])
    expect(await scene.waitingFor(child!)).toEqual([])
  })

  test('a suspended child gets the request, and stays suspended', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    await scene.store.suspend([idOf(child!)], '"why"')

    await runtime.turns(turnItem(parent, { effects: effects({ closes: [1] }) }))

    expect(await scene.waitingFor(child!)).toEqual(CANCEL)
    expect(await runtime.claimed({ hinted: [child!] })).toEqual([])
    expect((await scene.look(child!)).status).toBe('suspended')
  })
}
