import { childOf, continuing, effects, END, message, termination } from './items.ts'
import { type Contract, idOf, result, turnItem, turnRow } from './scene.ts'

/** Instances that are ended at once, whichever runtime owns them. */
export function describeTerminating(contract: Contract): void {
  contract.describe('terminating', () => {
    describeWhat(contract)
    describeFamily(contract)
  })
}

function describeWhat({ test, expect, open }: Contract): void {
  test('a terminated instance has ended, with a last turn that says so', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const turn = turnRow(2, { first: 2, count: 3 })
    await runtime.turns(turnItem(iid, { turn, next: { kind: 'release', wakeAt: null } }))
    await scene.under.advance(60_000)
    const clock = await scene.clock()

    expect((await scene.store.terminate([termination(iid)])).ended).toEqual([true])

    const row = await scene.look(iid)
    expect(row).toMatchObject({ status: 'terminated', output: '"stopped"', wakeAt: null })
    expect(row.finishedAt).toBeGreaterThanOrEqual(clock)
    expect(row.updatedAt).toBe(row.finishedAt)
    const { history } = await scene.load(iid)
    expect(history.slice(0, 2)).toEqual([turnRow(1), turn])
    expect(history.slice(2)).toMatchObject([
      { execution: 1, turn: 3, first: 5, count: 1, events: `terminated ${iid}` },
    ])
    expect(history[2]!.at).toBeGreaterThanOrEqual(clock)
  })

  test('its last turn is never older than the one before', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const at = (await scene.clock()) + 600_000
    await runtime.turns(turnItem(iid, { turn: turnRow(2, { at }) }))

    await scene.store.terminate([termination(iid)])

    expect((await scene.load(iid)).history[2]).toMatchObject({ turn: 3, at })
  })

  test('one in a later execution is terminated there', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(turnItem(iid, { turn: turnRow(2), next }))

    await scene.store.terminate([termination(iid)])

    expect(await scene.look(iid)).toMatchObject({ execution: 2, status: 'terminated' })
    expect((await scene.store.history(iid, 2)).map(({ turn }) => turn)).toEqual([1, 2])
    expect((await scene.store.history(iid, 1)).length).toBe(2)
  })

  test('nothing is left that waits, and nothing to claim', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await scene.store.send([result(iid, 1)])
    await scene.post(message(idOf(iid), '1', { dedupeKey: 'k' }))
    const state = [{ key: 'a', value: '1' }]
    await runtime.turns(turnItem(iid, { effects: effects({ state, progress: '"half"' }) }))

    await scene.store.terminate([termination(iid)])

    expect(await scene.under.rows(iid)).toEqual({
      instances: 1,
      runs: 0,
      history: 2,
      inbox: 0,
      posted: 1,
      state: 1,
    })
    expect((await scene.look(iid)).progress).toBe('"half"')
    expect(await runtime.tickAndCount()).toMatchObject({ owned: 0, mail: [], claimable: false })
    expect(await runtime.claimed({ hinted: [iid] })).toEqual([])
    expect(await scene.post(message(idOf(iid), '2'))).toEqual(['ended'])
  })

  test('one that is suspended, due or asleep is terminated as well', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const later = (await scene.clock()) + 60_000
    const [suspended, due, asleep] = await scene.sleeping(runtime.workflows[0]!, [0, 0, later])
    const iids = [suspended!, due!, asleep!]
    await scene.store.suspend([idOf(suspended!)], '"why"')

    const { ended } = await scene.store.terminate(iids.map((iid) => termination(iid, `"${iid}"`)))

    expect(ended).toEqual([true, true, true])
    const rows = await scene.store.look(iids)
    expect(rows.map((row) => [row?.status, row?.output, row?.report])).toEqual(
      iids.map((iid) => ['terminated', `"${iid}"`, null]),
    )
    expect(await scene.store.resume([idOf(suspended!)])).toBe(0)
  })

  test('instances that have ended or never existed are left alone, even a second time', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [ended, running] = await runtime.own(2)
    await runtime.turns(turnItem(ended!, { turn: turnRow(2), next: END }))
    const before = await scene.state([ended!], [])
    const nobody = { id: 'nobody', output: '""', events: 'terminated' }

    const first = await scene.store.terminate([nobody, termination(ended!), termination(running!)])
    const between = await scene.state([running!], [])
    const second = await scene.store.terminate([termination(running!, '"again"')])

    expect([first.ended, second.ended]).toEqual([[false, false, true], [false]])
    expect(await scene.state([ended!], [])).toEqual(before)
    expect(await scene.state([running!], [])).toEqual(between)
    expect(await scene.store.terminate([])).toEqual({
      ended: [],
      mail: [],
      hadTasks: false,
      woken: [],
    })
  })

  test('one whose history is damaged can be terminated [test_ack_appends_event_to_corrupted_history]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await runtime.turns(turnItem(iid, { turn: turnRow(2) }))
    await scene.under.corrupt(iid)

    expect((await scene.store.terminate([termination(iid)])).ended).toEqual([true])

    expect(await scene.turnsOf(iid)).toEqual([1, 2, 3])
    expect((await scene.look(iid)).status).toBe('terminated')
  })
}

function describeFamily({ test, expect, open }: Contract): void {
  test('its parent gets the result, and its children are closed', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await runtime.ownOne()
    const [middle] = await runtime.ownChildren(childOf(parent, { command: 4 }))
    const children = await runtime.ownChildren(
      childOf(middle!, { command: 1 }),
      childOf(middle!, { command: 2, execution: 9, onClose: 'terminate' }),
      childOf(middle!, { command: 3, onClose: 'abandon' }),
      childOf(middle!, { command: 4, onClose: 'independent' }),
    )

    const answer = await scene.store.terminate([termination(middle!)])

    expect(answer).toEqual({
      ended: [true],
      mail: [parent, children[0], children[1]],
      hadTasks: false,
      woken: [],
    })
    expect(await scene.inboxOf(parent)).toMatchObject([
      { kind: 'failed', execution: 1, command: 4, payload: '"stopped"', parked: false },
    ])
    const waiting = await Promise.all(children.map((iid) => scene.waitingFor(iid)))
    expect(waiting).toEqual([['cancel: "parent closed"'], ['terminate: "parent closed"'], [], []])
  })

  for (const order of ['parent first', 'child first'] as const) {
    test(`a parent and children that are terminated at once leave nothing behind (${order})`, async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const parent = await runtime.ownOne()
      const [child] = await runtime.ownChildren(childOf(parent))
      const family = order === 'parent first' ? [parent, child!] : [child!, parent]

      const { ended } = await scene.store.terminate(family.map((iid) => termination(iid)))

      expect(ended).toEqual([true, true])
      for (const iid of family) {
        expect(await scene.under.rows(iid)).toMatchObject({ runs: 0, inbox: 0, history: 2 })
      }
    })
  }
}
