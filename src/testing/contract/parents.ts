import type { EndStatus } from '../../store/instances.ts'
import { childOf, continuing, END, endOf } from './items.ts'
import { type Contract, ending, idOf, result, turnItem, turnRow } from './scene.ts'

const STATUSES: readonly EndStatus[] = ['completed', 'failed', 'cancelled', 'terminated']

/** What a parent receives when its children end. */
export function describeParents(contract: Contract): void {
  contract.describe('parents', () => {
    describeLinks(contract)
    describeResults(contract)
  })
}

function describeLinks({ test, expect, open }: Contract): void {
  test('a child is an instance of its own, linked to its parent [test_sub_orchestration_instance_creation]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const link = childOf(parent, { execution: 3, command: 7, onClose: 'terminate' })
    const [owned, free] = await runtime.reserve(2)

    await runtime.starts(runtime.startItem(owned!, { id: 'parent::child', parent: link }))
    await scene.store.start([runtime.startItem(free!, { parent: link, owned: false, wakeAt: 0 })])

    expect((await scene.load(owned!)).parent).toEqual(link)
    expect(await scene.store.find(['parent::child'])).toMatchObject([{ iid: owned, parent: link }])
    expect((await scene.load(free!)).parent).toEqual(link)
    expect(await scene.inboxOf(parent)).toEqual([])
  })

  test('started apart from a commit, it is refused to a sender that does not own its parent', async () => {
    await using scene = await open()
    const [owner, other] = [await scene.runtime(), await scene.runtime()]
    const link = childOf(await owner.ownOne())
    const [first, second] = await owner.reserve(2)
    const item = (iid: number) => owner.startItem(iid, { parent: link, owned: false, wakeAt: 0 })

    const starts = [
      await scene.store.start([item(first!)], { runtime: other.runtime, wereLocked: true }),
      await scene.store.start([item(second!)], { runtime: owner.runtime, wereLocked: true }),
    ]

    expect(starts).toEqual([['refused'], ['done']])
    expect(await scene.store.find([idOf(first!)])).toEqual([undefined])
  })

  test('an instance that no workflow started has no parent [test_delete_get_parent_id]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const policies = ['cancel', 'terminate', 'abandon', 'independent'] as const
    const links = policies.map((onClose, i) => childOf(parent, { onClose, command: i + 1 }))
    const children = await runtime.ownChildren(...links)

    const rows = await scene.store.look([parent, ...children])

    expect(rows.map((row) => row?.parent)).toEqual([null, ...links])
    expect(await scene.store.find(['nobody'])).toEqual([undefined])
  })

  test('the link outlives executions and the end', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const link = childOf(parent)
    const [child] = await runtime.ownChildren(link)

    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(child!, { turn: turnRow(2), next }))
    const during = (await scene.load(child!)).parent
    await endOf(runtime, child!, { execution: 2 })

    expect([during, (await scene.look(child!)).parent]).toEqual([link, link])
    expect(await scene.waitingFor(parent)).toEqual(['completed: "done"'])
  })
}

function describeResults({ test, expect, open }: Contract): void {
  for (const status of STATUSES) {
    const kind = status === 'completed' ? 'completed' : 'failed'

    test(`a parent learns that its child is ${status}, by a turn or at its start`, async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const parent = await runtime.ownOne()
      const [child] = await runtime.ownChildren(childOf(parent, { command: 5 }))
      const [quick, clients] = await runtime.reserve(2)
      const end = ending(`"${status}"`, status)

      await runtime.turns(turnItem(child!, { turn: turnRow(2), next: { kind: 'end', end } }))
      await runtime.starts(
        runtime.startItem(quick!, { parent: childOf(parent, { command: 6 }), end }),
      )
      const item = { parent: childOf(parent, { command: 7 }), end, owned: false }
      await scene.store.start([runtime.startItem(clients!, item)])

      const row = { kind, execution: 1, name: '', replyTo: '', payload: end.output, parked: false }
      expect(await scene.contentsOf(parent)).toEqual([
        { ...row, command: 5 },
        { ...row, command: 6 },
        { ...row, command: 7 },
      ])
    })
  }

  test('the result makes a free parent claimable, and an owner finds it by its tick', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const owned = await runtime.ownOne()
    const free = await runtime.ownOne()
    const children = await runtime.ownChildren(childOf(owned), childOf(free))
    await runtime.turns(turnItem(free, { next: { kind: 'release', wakeAt: null } }))

    await runtime.turns(...children.map((iid) => turnItem(iid, { turn: turnRow(2), next: END })))

    expect(await runtime.tick()).toMatchObject({ mail: [owned], claimable: true })
    expect(await runtime.claimed()).toEqual([free])
  })

  test('no runtime starts a child for an instance that another one owns, or that is unowned', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const parent = await runtime.ownOne()
    const [first, second, third] = (await runtime.reserve(3)) as [number, number, number]
    const child = (iid: number, command: number) =>
      runtime.startItem(iid, { parent: childOf(parent, { command }) })

    expect(await other.starts(child(first, 1))).toEqual(['refused'])
    expect(await runtime.starts(child(second, 2))).toEqual(['done'])
    await scene.store.suspend([idOf(parent)], '"why"')
    expect(await runtime.starts(child(third, 3))).toEqual(['refused'])
    // Sent again, it is the same one.
    expect(await runtime.starts(child(second, 2))).toEqual(['done'])
    expect(await scene.store.look([first, third])).toEqual([undefined, undefined])
  })

  test('a suspended parent finds the result when it is resumed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    await scene.store.suspend([idOf(parent)], '"why"')

    await endOf(runtime, child!)

    expect(await runtime.claimed({ hinted: [parent] })).toEqual([])
    expect(await scene.waitingFor(parent)).toEqual(['completed: "done"'])
  })

  test('an abandoned child sends its result to the parent too, an independent one does not', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [abandoned, independent] = await runtime.ownChildren(
      childOf(parent, { command: 1, onClose: 'abandon' }),
      childOf(parent, { command: 2, onClose: 'independent' }),
    )

    await endOf(runtime, independent!)
    await endOf(runtime, abandoned!)

    expect((await scene.inboxOf(parent)).map(({ command }) => command)).toEqual([1])
  })

  test('the first result of a command wins, whichever runtime sends it', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [late, early] = await runtime.ownChildren(
      childOf(parent, { command: 1 }),
      childOf(parent, { command: 2 }),
    )

    await scene.store.send([{ ...result(parent, 1, '"refused"'), kind: 'failed' }])
    await endOf(runtime, late!)
    await endOf(runtime, early!)
    await scene.store.send([result(parent, 2, '"too late"')])

    expect(await scene.waitingFor(parent)).toEqual(['failed: "refused"', 'completed: "done"'])
  })

  test('the results of many children that end at once on two connections all arrive', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const parent = await runtime.ownOne()
    const links = Array.from({ length: 20 }, (_, i) => childOf(parent, { command: i + 1 }))
    const left = await runtime.ownChildren(...links.slice(0, 10))
    const mine = await runtime.ownChildren(...links.slice(10))
    await runtime.turns(
      ...mine.map((iid) => turnItem(iid, { next: { kind: 'release', wakeAt: 0 } })),
    )
    const right = (await other.claim({ limit: 10, hinted: mine })).claims
    const last = { turn: turnRow(2), next: END }

    const verdicts = await Promise.all([
      runtime.turns(...left.map((iid) => turnItem(iid, last))),
      other.turns(...right.map(({ iid, epoch }) => turnItem(iid, { ...last, epoch }))),
      runtime.turns(turnItem(parent, { turn: turnRow(2) })),
    ])

    expect(new Set(verdicts.flat())).toEqual(new Set(['done']))
    const commands = (await scene.inboxOf(parent)).map(({ command }) => command)
    expect(commands.toSorted((a, b) => a - b)).toEqual(links.map(({ command }) => command))
  })
}
