import {
  type Contract,
  ending,
  PAST_LEASE_MS,
  result,
  startItem,
  turnItem,
  turnRow,
} from './scene.ts'

/** What can be seen: load, find, look, owned, verify. */
export function describeReads(contract: Contract): void {
  contract.describe('reads', () => {
    describeLoading(contract)
    describeLooking(contract)
    describeVerifying(contract)
  })
}

function describeLoading({ test, expect, open }: Contract): void {
  test('load gives the turns of the current execution in order, with all they hold [test_latest_execution_detection]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const rows = [2, 3, 4].map((turn) => turnRow(turn, { first: turn * 10, count: turn, at: turn }))
    for (const turn of rows) await runtime.turns(turnItem(iid, { turn }))

    const { history } = await scene.load(iid)

    expect(history).toEqual([turnRow(1), ...rows])
  })

  test('load leaves out the turns up to the one that is known', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [long, short] = await runtime.own(2)
    for (const turn of [2, 3]) await runtime.turns(turnItem(long!, { turn: turnRow(turn) }))
    await scene.store.send([result(long!, 1)])

    const loaded = await scene.store.load([
      { iid: long!, after: 2 },
      { iid: short!, after: 0 },
    ])
    const [nothingNew] = await scene.store.load([{ iid: long!, after: 3 }])

    expect(loaded.map(({ history }) => history.map(({ turn }) => turn))).toEqual([[3], [1]])
    expect([nothingNew!.history, nothingNew!.inbox.length]).toEqual([[], 1])
  })

  test('load answers in the order asked and leaves out unknown instances [test_missing_instance_metadata]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)
    const [nobody] = await runtime.reserve(1)

    const loaded = await scene.store.load([b!, nobody!, a!].map((iid) => ({ iid, after: 0 })))

    expect(loaded.map(({ iid }) => iid)).toEqual([b, a])
    expect(await scene.store.load([])).toEqual([])
  })

  test('load also reads instances that have ended or that others own', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.under.another()
    const iid = await runtime.ownOne()
    const next = { kind: 'end', end: ending() } as const
    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    const [loaded] = await other.load([{ iid, after: 0 }])

    expect(loaded).toMatchObject({ iid, execution: 1, inbox: [] })
    expect(loaded!.history.map(({ turn }) => turn)).toEqual([1, 2])
  })

  test('load sees a result either in the inbox or in history, never in both nor in neither', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const reader = await scene.under.another()
    const iid = await owner.ownOne()
    const rounds = 30
    await scene.store.send(Array.from({ length: rounds }, (_, i) => result(iid, i + 1)))
    const inbox = await scene.inboxOf(iid)
    let done = false

    const writing = (async () => {
      for (const [i, { id }] of inbox.entries()) {
        await owner.turns(turnItem(iid, { turn: turnRow(i + 2), taken: [id] }))
      }
      done = true
    })()
    const sums: number[] = []
    while (!done) {
      const [loaded] = await reader.load([{ iid, after: 0 }])
      sums.push(loaded!.history.length - 1 + loaded!.inbox.length)
    }
    await writing

    expect(new Set([...sums, rounds])).toEqual(new Set([rounds]))
  })

  test('a damaged history is still claimed and read, and never shortened [test_read_corrupted_history_returns_error]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [sound, damaged] = await runtime.own(2)
    const next = { kind: 'release', wakeAt: 0 } as const
    await runtime.turns(turnItem(damaged!, { turn: turnRow(2), next }))
    await scene.under.corrupt(damaged!)

    expect(await runtime.claimed()).toEqual([damaged])
    const loaded = await scene.store.load([sound!, damaged!].map((iid) => ({ iid, after: 0 })))
    expect(loaded[0]!.history).toEqual([turnRow(1)])
    expect(loaded[1]!.history.map(({ turn }) => turn)).toEqual([1, 2])
    expect(loaded[1]!.history[0]).toEqual(turnRow(1))
    expect(loaded[1]!.history[1]!.events === turnRow(2).events).toBe(false)
  })
}

function describeLooking({ test, expect, open }: Contract): void {
  test('find goes by id and look by number, each in the order asked', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [a, b] = await runtime.own(2)
    const [nobody] = await runtime.reserve(1)
    const [rowA, rowB] = await scene.store.look([a!, b!])

    const found = await scene.store.find([rowB!.id, 'nobody', rowA!.id, rowB!.id])
    const looked = await scene.store.look([b!, nobody!, a!, b!])

    expect(found).toEqual([rowB, undefined, rowA, rowB])
    expect(looked).toEqual([rowB, undefined, rowA, rowB])
    expect([await scene.store.find([]), await scene.store.look([])]).toEqual([[], []])
  })

  test('an instance is shown through its life: running, suspended, running, ended', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [iid] = await runtime.reserve(1)
    await runtime.starts(runtime.startItem(iid!, { id: 'life' }))
    const shown = async () => {
      const { status, wakeAt, output, report, finishedAt } = await scene.look(iid!)
      return { status, wakeAt, output, report, finished: finishedAt !== null }
    }
    const nothing = { wakeAt: null, output: null, report: null, finished: false }

    expect(await shown()).toEqual({ ...nothing, status: 'running' })
    const wakeAt = (await scene.clock()) + 60_000
    await runtime.turns(turnItem(iid!, { next: { kind: 'release', wakeAt } }))
    expect(await shown()).toEqual({ ...nothing, status: 'running', wakeAt })
    await scene.under.advance(60_000)
    await runtime.claim()
    expect(await shown()).toEqual({ ...nothing, status: 'running' })
    await runtime.turns(turnItem(iid!, { epoch: 2, next: { kind: 'suspend', report: '"why"' } }))
    expect(await shown()).toEqual({ ...nothing, status: 'suspended', report: '"why"' })
    await scene.store.resume(['life'])
    expect(await shown()).toMatchObject({ status: 'running', report: null })
    await runtime.claim()
    const end = ending('"no luck"', 'failed')
    await runtime.turns(turnItem(iid!, { epoch: 3, turn: turnRow(2), next: { kind: 'end', end } }))
    expect(await shown()).toEqual({
      ...nothing,
      status: 'failed',
      output: '"no luck"',
      finished: true,
    })
  })

  test('an instance shows its workflow by name and version, also one without a version [test_null_version_handling]', async () => {
    await using scene = await open()
    const workflows = [
      { name: 'order', version: '' },
      { name: 'order', version: '2024-01-01' },
    ]
    const numbers = await scene.store.workflowNumbers(workflows)
    const first = await scene.store.reserve(2)

    await scene.store.start(
      numbers.map((workflow, i) =>
        startItem(first + i, { workflow, owned: false, wakeAt: null, id: `versioned ${i}` }),
      ),
    )

    const rows = await scene.store.find(['versioned 0', 'versioned 1'])
    expect(rows.map((row) => row?.workflow)).toEqual(workflows)
    const loaded = await scene.store.load([{ iid: first, after: 0 }])
    expect(loaded.map(({ workflow }) => workflow)).toEqual([workflows[0]])
  })

  test('times of an instance are those of the store', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const begun = await scene.clock()
    const iid = await runtime.ownOne()
    const created = await scene.look(iid)
    await scene.under.advance(60_000)
    const turnAt = await scene.clock()
    await runtime.turns(turnItem(iid, { turn: turnRow(2, { at: turnAt }) }))
    const turned = await scene.look(iid)
    await scene.under.advance(60_000)
    const next = { kind: 'end', end: ending() } as const
    await runtime.turns(turnItem(iid, { turn: turnRow(3, { at: turnAt }), next }))
    const ended = await scene.look(iid)

    expect(created.createdAt).toBeGreaterThanOrEqual(begun)
    expect(created.createdAt).toBeLessThanOrEqual(begun + 30_000)
    expect(created.updatedAt).toBe(created.createdAt)
    expect([turned.createdAt, turned.updatedAt]).toEqual([created.createdAt, turnAt])
    expect(ended.finishedAt).toBeGreaterThanOrEqual(turnAt + 60_000)
    expect([ended.createdAt, ended.updatedAt]).toEqual([created.createdAt, ended.finishedAt])
  })
}

function describeVerifying({ test, expect, open }: Contract): void {
  test('a cached instance is the same when owner and epoch are, and its turn is there', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { turn: turnRow(2) }))
    const elsewhere = await other.ownOne()
    const copy = { iid, epoch: 1, execution: 1, turn: 2 }

    const { server, same } = await scene.store.verify(runtime.runtime, [
      copy,
      { ...copy, turn: 1 },
      { ...copy, turn: 3 },
      { ...copy, execution: 2 },
      { ...copy, epoch: 2 },
      { ...copy, iid: elsewhere, turn: 1 },
      { ...copy, iid: 123_456_789 },
    ])

    expect(server).toBe(runtime.server)
    expect(same).toEqual([true, true, false, false, false, false, false])
  })

  test('after a takeover, a release or an end no cached instance is the same', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const taker = await scene.otherRuntime()
    const [taken, released, ended] = await runtime.own(3)
    const copies = [taken!, released!, ended!].map((iid) => ({
      iid,
      epoch: 1,
      execution: 1,
      turn: 1,
    }))
    await runtime.turns(
      turnItem(released!, { next: { kind: 'release', wakeAt: null } }),
      turnItem(ended!, { turn: turnRow(2), next: { kind: 'end', end: ending() } }),
    )

    const before = await scene.store.verify(runtime.runtime, copies)
    await scene.under.advance(PAST_LEASE_MS)
    await scene.takeOver(runtime, taker)
    const after = await scene.store.verify(runtime.runtime, copies)

    expect([before.same, after.same]).toEqual([
      [true, false, false],
      [false, false, false],
    ])
    expect((await scene.store.verify(runtime.runtime, [])).same).toEqual([])
  })
}
