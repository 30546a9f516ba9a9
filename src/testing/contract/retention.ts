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
    describeRuntimes(contract)
  })
}

function describeTime({ test, expect, open }: Contract): void {
  test('what ended longer ago than it is to be kept is removed, with all there is of it', async () => {
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

  test('it is removed however it ended, also within its first turn or from outside', async () => {
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

  test('what has not ended stays, and so does what is to be kept for ever', async () => {
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

  test('one that was removed in another way meanwhile is no trouble', async () => {
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
  test('a child is kept while the execution that started it goes on', async () => {
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

function describeRuntimes({ test, expect, open }: Contract): void {
  test('a runtime that died long ago, and is remembered by nobody, stays dead', async () => {
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

/** A runtime with a workflow whose instances are kept for a minute, or as long as told. */
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
