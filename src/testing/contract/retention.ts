import { childOf, continuing, effects, END, endOf, message, setting, termination } from './items.ts'
import {
  Actor,
  type Contract,
  ending,
  idOf,
  LEASE_MS,
  type Scene,
  turnItem,
  turnRow,
} from './scene.ts'

const NOTHING = { instances: 0, runs: 0, history: 0, inbox: 0, posted: 0, state: 0 }
const KEPT_MS = 60_000

/** Instances that are removed some time after their end. */
export function describeRetention(contract: Contract): void {
  contract.describe('retention', () => {
    describeTime(contract)
    describeFamilies(contract)
    describeExecutions(contract)
    describeEarlier(contract)
    describeRuntimes(contract)
  })
}

function describeTime({ test, expect, open }: Contract): void {
  test('an instance that ended longer ago than its retention is removed, with all its data', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'short')
    const [first, second] = await runtime.own(2)
    await runtime.turns(turnItem(first!, { turn: turnRow(2), effects: setting({ a: '1' }) }))
    await scene.post(message(idOf(first!), '1', { dedupeKey: 'k' }))
    await runtime.turns(turnItem(first!, { turn: turnRow(3), next: END }))
    await scene.under.advance(KEPT_MS / 2)
    await endOf(runtime, second!)

    await scene.under.advance(KEPT_MS / 2 + 1_000)
    await removeAll(scene)

    expect(await scene.under.rows(first!)).toEqual(NOTHING)
    expect(await scene.store.find([idOf(first!)])).toEqual([undefined])
    expect(await scene.look(second!)).toMatchObject({ status: 'completed', output: '"done"' })
    expect(await scene.turnsOf(second!)).toEqual([1, 2])
  })

  test('it is removed however it ended, even within its first turn or from outside', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'any-end')
    const [failed, stopped] = await runtime.own(2)
    const [atOnce] = await runtime.reserve(1)
    await runtime.starts(runtime.startItem(atOnce!, { end: ending() }))
    await runtime.turns(
      turnItem(failed!, { turn: turnRow(2), next: { kind: 'end', end: ending('""', 'failed') } }),
    )
    await scene.store.terminate([termination(stopped!)])

    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)

    for (const iid of [failed!, stopped!, atOnce!]) {
      expect(await scene.under.rows(iid)).toEqual(NOTHING)
    }
  })

  test('unfinished instances stay, and so do those that are kept forever', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'unfinished')
    const [running, suspended] = await runtime.own(2)
    await scene.store.suspend([idOf(suspended!)], '"why"')
    const forever = await scene.runtime()
    const kept = await forever.ownOne()
    await endOf(forever, kept)

    await scene.under.advance(10 * KEPT_MS)
    await removeAll(scene)

    expect(await scene.look(running!)).toMatchObject({ status: 'running' })
    expect(await scene.look(suspended!)).toMatchObject({ status: 'suspended' })
    expect(await scene.look(kept)).toMatchObject({ status: 'completed' })
  })

  test('the latest registration decides', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'changed')
    const iid = await runtime.ownOne()
    await endOf(runtime, iid)

    await keeping(scene, 'changed', null)
    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)
    expect(await scene.look(iid)).toMatchObject({ status: 'completed' })

    await keeping(scene, 'changed', 0)
    await removeAll(scene)
    expect(await scene.under.rows(iid)).toEqual(NOTHING)
  })

  test('many are removed some at a time, until there are no more', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'many')
    const iids = await runtime.reserve(1_100)
    await runtime.starts(...iids.map((iid) => runtime.startItem(iid, { end: ending() })))
    await scene.under.advance(KEPT_MS + 1_000)

    expect(await scene.store.removeExpired()).toBe(true)
    await removeAll(scene)

    const left = await scene.store.look(iids)
    expect(left.filter((row) => row !== undefined)).toEqual([])
  })

  test('an instance that was removed meanwhile is skipped', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'removed')
    const [gone, other] = await runtime.own(2)
    await endOf(runtime, gone!)
    await endOf(runtime, other!)
    await scene.store.remove([idOf(gone!)])
    const [reborn] = await runtime.reserve(1)
    await runtime.starts(runtime.startItem(reborn!, { id: idOf(gone!) }))

    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)

    expect(await scene.look(reborn!)).toMatchObject({ status: 'running' })
    expect(await scene.under.rows(other!)).toEqual(NOTHING)
  })
}

function describeFamilies({ test, expect, open }: Contract): void {
  test('a child is kept while the execution that started it runs', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'family')
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent, { onClose: 'independent' }))
    await endOf(runtime, child!)

    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)
    expect(await scene.look(child!)).toMatchObject({ status: 'completed' })

    await endOf(runtime, parent)
    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)
    expect(await scene.under.rows(child!)).toEqual(NOTHING)
    expect(await scene.under.rows(parent)).toEqual(NOTHING)
  })

  test('a child goes when its parent has gone on to another execution', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'loop')
    const parent = await runtime.ownOne()
    const [child] = await runtime.ownChildren(childOf(parent))
    await endOf(runtime, child!)
    await runtime.turns(
      turnItem(parent, {
        turn: turnRow(2),
        effects: effects({}),
        next: continuing(runtime.workflows[0]!),
      }),
    )

    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)

    expect(await scene.under.rows(child!)).toEqual(NOTHING)
    expect(await scene.look(parent)).toMatchObject({ status: 'running', execution: 2 })
  })
}

function describeExecutions({ test, expect, open }: Contract): void {
  test('histories of executions that were followed by others go, and the current one stays', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'executions')
    const iid = await runtime.ownOne()
    await continueAt(runtime, iid, 1, await scene.clock())
    await scene.under.advance(KEPT_MS / 2)
    await continueAt(runtime, iid, 2, await scene.clock())

    await scene.under.advance(KEPT_MS / 2 + 1_000)
    await removeAll(scene)
    expect(await executionsOf(scene, iid)).toEqual([2, 3])

    await scene.under.advance(KEPT_MS)
    await removeAll(scene)
    expect(await executionsOf(scene, iid)).toEqual([3])
    expect(await scene.look(iid)).toMatchObject({ status: 'running', execution: 3 })
    await endOf(runtime, iid, { execution: 3 })
    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)
    expect(await scene.under.rows(iid)).toEqual(NOTHING)
  })

  test('one that continues and ends in the same millisecond is removed', async () => {
    await using scene = await open()
    const runtime = await keeping(scene, 'at-once')
    const iids = await runtime.own(20)
    for (const iid of iids) {
      await continueAt(runtime, iid, 1)
      await endOf(runtime, iid, { execution: 2 })
    }

    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)

    for (const iid of iids) expect(await scene.under.rows(iid)).toEqual(NOTHING)
  })

  test('executions of a workflow without a retention stay', async () => {
    await using scene = await open()
    await keeping(scene, 'other')
    const runtime = await scene.runtime()
    const iid = await runtime.ownOne()
    await continueAt(runtime, iid, 1)

    await scene.under.advance(10 * KEPT_MS)
    await removeAll(scene)

    expect(await executionsOf(scene, iid)).toEqual([1, 2])
  })
}

function describeEarlier({ test, expect, open }: Contract): void {
  test('what ended, or continued, before its workflow had a retention is removed, too', async () => {
    await using scene = await open()
    const before = await keeping(scene, 'earlier', null)
    const [ended, continued, running] = await before.own(3)
    await endOf(before, ended!)
    // Its first execution ended in 1970, by the times that the owner writes.
    await continueAt(before, continued!, 1)
    const forever = await scene.runtime()
    const kept = await forever.ownOne()
    await endOf(forever, kept)

    await keeping(scene, 'earlier')
    await scene.under.advance(KEPT_MS + 1_000)
    await removeAll(scene)

    expect(await scene.under.rows(ended!)).toEqual(NOTHING)
    expect(await executionsOf(scene, continued!)).toEqual([2])
    expect(await scene.look(running!)).toMatchObject({ status: 'running' })
    expect(await scene.look(kept)).toMatchObject({ status: 'completed' })
  })

  test('more than one call removes at once are noted in several, by whichever runtime comes', async () => {
    await using scene = await open()
    const before = await keeping(scene, 'many-earlier', null)
    const iids = await before.reserve(2_300)
    await before.starts(...iids.map((iid) => before.startItem(iid, { end: ending() })))
    const running = await before.ownOne()
    await keeping(scene, 'many-earlier')
    await scene.under.advance(KEPT_MS + 1_000)
    const other = await scene.under.another()

    const calls = [scene.store, other].map(async (store) => {
      while (await store.removeExpired());
    })
    await Promise.all(calls)
    await removeAll(scene)

    expect((await scene.store.look(iids)).filter((row) => row !== undefined)).toEqual([])
    expect(await scene.look(running)).toMatchObject({ status: 'running' })
  })
}

/** Continues an instance as new. */
async function continueAt(
  runtime: Actor,
  iid: number,
  execution: number,
  at = 1_002,
): Promise<void> {
  const next = continuing(runtime.workflows[0]!, { execution: execution + 1 })
  await runtime.turns(turnItem(iid, { turn: turnRow(2, { execution, at }), next }))
}

async function executionsOf({ store }: Scene, iid: number): Promise<number[]> {
  return (await store.admin.executions(iid)).map(({ execution }) => execution)
}

function describeRuntimes({ test, expect, open }: Contract): void {
  test('a runtime that died long ago, and whose row is gone, stays dead', async () => {
    await using scene = await open()
    const dead = await keeping(scene, 'dead')
    const iid = await dead.ownOne()
    await scene.under.kill(dead.runtime)
    const taker = await keeping(scene, 'dead')
    await taker.tick()

    await scene.under.advance(8 * 86_400_000)
    for (let n = 0; n <= 100; n++) await keeping(scene, 'dead')

    expect(await dead.tick()).toMatchObject({ state: 'dead' })
    expect(await dead.commit({ turns: [turnItem(iid, { turn: turnRow(2) })] })).toMatchObject({
      state: 'dead',
    })
    expect(await scene.turnsOf(iid)).toEqual([1])
  })
}

/** A runtime with a workflow whose instances are kept for a minute by default. */
async function keeping(
  { store }: Scene,
  name: string,
  retentionMs: number | null = KEPT_MS,
): Promise<Actor> {
  const registered = await store.register({
    leaseMs: LEASE_MS,
    workflows: [{ name: `kept-${name}`, version: '1', retentionMs: retentionMs ?? undefined }],
    info: 'contract suite',
  })
  return new Actor(store, registered)
}

async function removeAll({ store }: Scene): Promise<void> {
  while (await store.removeExpired());
}
