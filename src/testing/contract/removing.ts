import { childOf, continuing, effects, END, message, setting } from './items.ts'
import { type Actor, type Contract, ending, idOf, result, turnItem, turnRow } from './scene.ts'

const NOTHING = { instances: 0, runs: 0, history: 0, inbox: 0, posted: 0, state: 0 }

/** Instances that are removed with all their rows. */
export function describeRemoving(contract: Contract): void {
  contract.describe('removing', () => {
    describeWhat(contract)
    describeRebirth(contract)
  })
}

function describeWhat({ test, expect, open }: Contract): void {
  test('an ended instance is removed, however it ended, and nothing is left [test_delete_terminal_instances]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iids = await runtime.own(3)
    const statuses = ['completed', 'failed', 'cancelled'] as const
    await runtime.turns(
      ...iids.map((iid, i) =>
        turnItem(iid, { turn: turnRow(2), next: { kind: 'end', end: ending('', statuses[i]) } }),
      ),
    )
    const stopped = await runtime.ownOne()
    await scene.store.terminate([{ id: idOf(stopped), output: '""', events: 'terminated' }])

    expect(await scene.store.remove([...iids, stopped].map(idOf))).toBe(4)

    for (const iid of [...iids, stopped]) {
      expect(await scene.under.rows(iid)).toEqual(NOTHING)
    }
    expect(await scene.store.find(iids.map(idOf))).toEqual([undefined, undefined, undefined])
    expect(await scene.store.look(iids)).toEqual([undefined, undefined, undefined])
    expect(await scene.store.load(iids.map((iid) => ({ iid, after: 0 })))).toEqual([])
    expect(await scene.store.history(iids[0]!, 1)).toEqual([])
  })

  test('all executions go, and all values [test_delete_cleans_queues_and_locks]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await scene.post(message(idOf(iid), '1', { dedupeKey: 'k' }))
    const next = continuing(runtime.workflows[0]!)
    await runtime.turns(
      turnItem(iid, { turn: turnRow(2), effects: setting({ a: '1', b: '2' }), next }),
    )
    await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution: 2 }), next: END }))

    expect(await scene.store.remove([idOf(iid)])).toBe(1)

    expect(await scene.under.rows(iid)).toEqual(NOTHING)
    expect(await scene.store.history(iid, 1)).toEqual([])
    expect(await scene.stateOf(iid, 'a')).toEqual([undefined])
  })

  test('an unfinished instance is kept until it is terminated [test_delete_running_rejected_force_succeeds]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [owned, suspended] = await runtime.own(2)
    const [free] = await scene.sleeping(runtime.workflows[0]!, [null])
    await scene.store.suspend([idOf(suspended!)], '"why"')
    const iids = [owned!, suspended!, free!]
    const before = await scene.state(iids, [runtime])

    expect(await scene.store.remove(iids.map(idOf))).toBe(0)
    expect(await scene.state(iids, [runtime])).toEqual(before)

    await scene.store.terminate(
      iids.map((iid) => ({ id: idOf(iid), output: '""', events: 'terminated' })),
    )
    expect(await scene.store.remove(iids.map(idOf))).toBe(3)
  })

  test('removing an instance that never existed, or is already gone, removes nothing [test_delete_nonexistent_instance]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await ended(runtime)

    const counts = [
      await scene.store.remove(['nobody']),
      await scene.store.remove([idOf(iid), 'nobody', idOf(iid)]),
      await scene.store.remove([idOf(iid)]),
      await scene.store.remove([]),
    ]

    expect(counts).toEqual([0, 1, 0, 0])
  })

  test('of several instances only those that have ended are removed [test_delete_instances_atomic]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [first, second, kept] = [await ended(runtime), await ended(runtime), await ended(runtime)]
    const running = await runtime.ownOne()
    const before = await scene.state([kept, running], [runtime])

    expect(await scene.store.remove([first, running, second].map(idOf))).toBe(2)

    expect(await scene.state([kept, running], [runtime])).toEqual(before)
    expect(await scene.store.look([first, second])).toEqual([undefined, undefined])
  })

  test('messages for an instance that was never started are removed with their keys', async () => {
    await using scene = await open()
    const iid = await scene.store.reserve(1)
    await scene.store.post([message('early', '1', { iid, dedupeKey: 'k' })])

    expect(await scene.store.remove(['early'])).toBe(1)

    expect(await scene.under.rows(iid)).toEqual(NOTHING)
    expect(await scene.store.find(['early'])).toEqual([undefined])
    expect(await scene.post(message('early', '2', { dedupeKey: 'k' }))).toEqual(['sent'])
  })

  test('a child stays when its parent is removed, and a parent when its child is', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const parent = await ended(runtime)
    const [child] = await runtime.ownChildren(childOf(parent))
    const other = await runtime.ownOne()
    const [gone] = await runtime.ownChildren(childOf(other))
    await runtime.turns(turnItem(gone!, { turn: turnRow(2), next: END }))

    expect(await scene.store.remove([idOf(parent), idOf(gone!)])).toBe(2)

    expect((await scene.load(child!)).parent).toEqual(childOf(parent))
    expect(await scene.waitingFor(other)).toEqual(['completed: "done"'])
    expect(await runtime.turns(turnItem(child!, { turn: turnRow(2), next: END }))).toEqual(['done'])
    expect(await scene.under.rows(parent)).toEqual(NOTHING)
  })
}

function describeRebirth({ test, expect, open }: Contract): void {
  test('a removed id can be started again, under another number', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await ended(runtime)
    await scene.store.remove([idOf(iid)])
    const [reborn] = await runtime.reserve(1)

    expect(await runtime.starts(runtime.startItem(reborn!, { id: idOf(iid) }))).toEqual(['done'])

    expect(reborn === iid).toBe(false)
    const [row] = await scene.store.find([idOf(iid)])
    expect(row).toMatchObject({ iid: reborn, execution: 1, status: 'running', output: null })
    expect(await scene.turnsOf(reborn!)).toEqual([1])
  })

  test('a commit of the owner under way brings nothing back [test_force_delete_prevents_ack_recreation]', async () => {
    await using scene = await open()
    const stale = await scene.runtime()
    const iid = await stale.ownOne()
    await stale.turns(turnItem(iid, { turn: turnRow(2) }))
    await scene.store.terminate([{ id: idOf(iid), output: '""', events: 'terminated' }])
    await scene.store.remove([idOf(iid)])
    const full = effects({ state: [{ key: 'a', value: '1' }], progress: '1' })

    const verdicts = await stale.turns(
      turnItem(iid, { turn: turnRow(3), effects: full }),
      turnItem(iid, { turn: turnRow(4), next: { kind: 'release', wakeAt: 0 } }),
      turnItem(iid, { turn: turnRow(3), next: continuing(stale.workflows[0]!) }),
      turnItem(iid, { turn: turnRow(3), next: END }),
    )

    expect(verdicts).toEqual(['refused', 'refused', 'refused', 'refused'])
    expect(await scene.under.rows(iid)).toEqual(NOTHING)
    expect(await scene.store.find([idOf(iid)])).toEqual([undefined])
  })

  test('results for the old instance never reach the new one [test_stale_activity_after_delete_recreate]', async () => {
    await using scene = await open()
    const stale = await scene.runtime()
    const owner = await scene.otherRuntime()
    const iid = await stale.ownOne()
    await scene.store.terminate([{ id: idOf(iid), output: '""', events: 'terminated' }])
    await scene.store.remove([idOf(iid)])
    const [reborn] = await owner.reserve(1)
    await owner.starts(owner.startItem(reborn!, { id: idOf(iid) }))
    const before = await scene.state([reborn!], [owner, stale])

    await scene.store.send([result(iid, 1)])
    const verdicts = await stale.turns(turnItem(iid, { turn: turnRow(2), next: END }))

    expect(verdicts).toEqual(['refused'])
    expect(await scene.state([reborn!], [owner, stale])).toEqual(before)
    expect(await scene.under.rows(iid)).toEqual(NOTHING)
  })
}

/** An instance that has ended. */
async function ended(runtime: Actor): Promise<number> {
  const iid = await runtime.ownOne()
  await runtime.turns(turnItem(iid, { turn: turnRow(2), next: END }))
  return iid
}
