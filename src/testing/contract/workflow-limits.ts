import { NO_VERSION, type Iid } from '../../store/instances.ts'
import type { StartItem } from '../../store/commits.ts'
import type { WorkflowLimit } from '../../store/runtimes.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import { childOf, continuing, effects, END, message, stop, termination } from './items.ts'
import {
  Actor,
  alive,
  type Contract,
  idOf,
  judged,
  LEASE_MS,
  type Scene,
  sorted,
  startItem,
  turnItem,
  turnRow,
} from './scene.ts'

/** How many instances of a workflow are admitted, over all runtimes. */
export function describeWorkflowLimits(contract: Contract): void {
  contract.describe('limits of workflows', () => {
    describeConcurrency(contract)
    describeLeaving(contract)
    describeWaiting(contract)
    describeRates(contract)
    describeKeys(contract)
    describeChanges(contract)
    describeRaces(contract)
  })
}

/** At most this many at once. */
export function atOnce(concurrency: number, keyed = false): WorkflowLimit {
  return { concurrency, rate: null, keyed }
}

function perHundredSeconds(count: number, given: Partial<WorkflowLimit> = {}): WorkflowLimit {
  return { concurrency: null, rate: { count, perMs: 100_000 }, keyed: false, ...given }
}

/** A runtime that registers `order` with a limit. Its first workflow has a version, its second none. */
export async function limited(
  scene: Scene,
  limit?: WorkflowLimit,
  store: WorkflowStore = scene.store,
): Promise<Actor> {
  const registered = await store.register({
    leaseMs: LEASE_MS,
    workflows: [
      { name: 'order', version: '1.0.0', limit },
      { name: 'order', version: NO_VERSION, limit },
    ],
    info: 'contract suite',
  })
  return new Actor(store, registered)
}

/** Starts instances that are due now, one after the other, and returns their numbers. */
export async function starts(
  { store, workflows }: Actor,
  given: readonly Partial<StartItem>[],
): Promise<Iid[]> {
  const first = await store.reserve(given.length)
  const iids: Iid[] = []
  for (const [i, item] of given.entries()) {
    const start = startItem(first + i, {
      workflow: workflows[0]!,
      owned: false,
      wakeAt: 1,
      ...item,
    })
    const [verdict] = await store.start([start])
    if (verdict === 'done') iids.push(first + i)
  }
  return iids
}

function plain(count: number): Partial<StartItem>[] {
  return Array.from({ length: count }, () => ({}))
}

function withKeys(...keys: readonly string[]): Partial<StartItem>[] {
  return keys.map((limitKey) => ({ limitKey }))
}

/** Ends an instance that was claimed once, and returns what is due because of it. */
async function end(actor: Actor, iid: Iid, epoch = 1): Promise<readonly Iid[]> {
  const turns = [turnItem(iid, { epoch, turn: turnRow(2), next: END })]
  return judged(await actor.commit({ turns })).woken ?? []
}

function describeConcurrency({ test, expect, open }: Contract): void {
  test('this many instances are admitted at once, in the order of their starts', async () => {
    await using scene = await open()
    const a = await limited(scene, atOnce(2))
    const b = await limited(scene, atOnce(2), await scene.under.another())
    const [one, two, three, four] = await starts(a, plain(4))

    expect(await a.claimed({ limit: 1 })).toEqual([one])
    expect(await b.claimed()).toEqual([two])
    expect(await a.claimed()).toEqual([])
    expect(await b.claimed({ hinted: [three!, four!] })).toEqual([])

    expect(await end(b, two!)).toEqual([three])
    expect(await a.claimed()).toEqual([three])
    expect(await b.claimed()).toEqual([])
  })

  test('it counts instances of all versions, and those without one', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(2))
    const [versioned, unversioned] = runtime.workflows
    const iids = await starts(runtime, [
      { workflow: unversioned! },
      { workflow: versioned! },
      { workflow: unversioned! },
    ])

    expect(sorted(await runtime.claimed())).toEqual(iids.slice(0, 2))
    expect(await runtime.claimed()).toEqual([])
  })

  test('a workflow without a limit is not affected', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const other = await scene.runtime({ workflows: ['refund'] })
    await starts(runtime, plain(3))
    const iids = await starts(other, plain(3))
    const owned = await other.own(2)

    expect(await other.claimed()).toEqual(iids)
    expect((await scene.store.owned(other.runtime)).length).toBe(iids.length + owned.length)
  })

  test('a sender that does not know of the limit is not the owner: it sends the start again', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [iid, free] = await runtime.reserve(2)
    const item = runtime.startItem(iid!)
    const other = await scene.runtime({ workflows: ['refund'] })
    const fine = { ...other.startItem(free!), workflow: other.workflows[0]! }

    expect(await runtime.starts(item, fine)).toEqual(['locked', 'done'])
    expect((await scene.under.rows(iid!)).instances).toBe(0)

    expect(await runtime.starts({ ...item, owned: false, wakeAt: 1 })).toEqual(['done'])
    expect(await runtime.claimed()).toEqual([iid])
  })

  test('a start that is sent again is recognised, and counts once', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(2))
    const [iid] = await runtime.reserve(1)
    const item = runtime.startItem(iid!, { owned: false, wakeAt: 1 })

    expect(await scene.store.start([item])).toEqual(['done'])
    expect(await scene.store.start([item])).toEqual(['done'])
    const [second] = await starts(runtime, plain(1))

    expect(await runtime.claimed()).toEqual([iid, second])
  })

  test('a delayed start counts once it is due', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [later, now] = await starts(runtime, [
      { wakeAt: (await scene.clock()) + 60_000 },
      { wakeAt: 1 },
    ])

    expect(await runtime.claimed()).toEqual([now])
    await scene.under.advance(61_000)
    expect(await runtime.claimed()).toEqual([])
    await end(runtime, now!)
    expect(await runtime.claimed()).toEqual([later])
  })

  test('an import waits for its limit as a start does', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [first] = await starts(runtime, plain(1))
    expect(await runtime.claimed()).toEqual([first])
    const [iid] = await runtime.reserve(1)
    const turns = [turnRow(1), turnRow(2)]
    const workflow = runtime.workflows[0]!
    await scene.store.import({ iid: iid!, id: 'copy', workflow, labels: '{}', turns, state: [] })

    expect(await runtime.claimed()).toEqual([])
    expect((await scene.look(iid!)).status).toBe('scheduled')
    await end(runtime, first!)
    expect(await runtime.claimed()).toEqual([iid])
  })
}

function describeLeaving({ test, expect, open }: Contract): void {
  test('an instance keeps its place while it sleeps, waits, continues or is suspended', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one, two] = await starts(runtime, plain(2))
    expect(await runtime.claimed()).toEqual([one])
    const stays = async (): Promise<void> => expectNothing(await runtime.claimed())
    const expectNothing = (claimed: readonly Iid[]): void => void expect(claimed).toEqual([])

    const wakeAt = (await scene.clock()) + 3_600_000
    await runtime.turns(turnItem(one!, { turn: turnRow(2), next: { kind: 'release', wakeAt } }))
    await stays()
    await scene.under.advance(3_600_001)
    await runtime.renew()
    expect(await runtime.claimed()).toEqual([one])
    const next = continuing(runtime.workflows[0]!, { keep: false })
    await runtime.turns(turnItem(one!, { epoch: 2, turn: turnRow(3), next }))
    expect(await runtime.claimed()).toEqual([one])
    await scene.store.suspend([idOf(one!)], '"why"')
    await stays()
    await scene.store.resume([idOf(one!)])
    expect(await runtime.claimed()).toEqual([one])
    await scene.store.terminate([termination(one!)])
    expect(await runtime.claimed()).toEqual([two])
  })

  test('the death of a runtime frees no place: another runtime takes its instances over', async () => {
    await using scene = await open()
    const victim = await limited(scene, atOnce(2))
    const taker = await limited(scene, atOnce(2), await scene.under.another())
    const iids = await starts(victim, plain(4))
    expect(await victim.claimed()).toEqual(iids.slice(0, 2))

    const taken = await scene.takeOver(victim, taker)

    expect(taken.map(({ iid }) => iid)).toEqual(iids.slice(0, 2))
    expect(await taker.claimed()).toEqual([])
    expect(await end(taker, iids[0]!, 2)).toEqual([iids[2]])
  })

  test('a runtime that closes frees no place either', async () => {
    await using scene = await open()
    const closing = await limited(scene, atOnce(1))
    const other = await limited(scene, atOnce(1), await scene.under.another())
    const [one] = await starts(closing, plain(2))
    expect(await closing.claimed()).toEqual([one])

    await scene.store.unregister(closing.runtime)

    expect(await other.claimed()).toEqual([one])
    expect(await other.claimed()).toEqual([])
  })

  test('what an owner sends after it was superseded frees no place', async () => {
    await using scene = await open()
    const victim = await limited(scene, atOnce(1))
    const taker = await limited(scene, atOnce(1), await scene.under.another())
    const [one] = await starts(victim, plain(2))
    await victim.claimed()
    await scene.takeOver(victim, taker)

    const late = await victim.commit({ turns: [turnItem(one!, { turn: turnRow(2), next: END })] })

    expect(late.state).toBe('dead')
    expect(await taker.claimed()).toEqual([])
  })

  test('an end that is sent again frees its place once', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one, two, three] = await starts(runtime, plain(3))
    await runtime.claimed()
    await end(runtime, one!)
    expect(await runtime.claimed()).toEqual([two])

    expect(await end(runtime, one!)).toEqual([])

    expect(await runtime.claimed()).toEqual([])
    expect((await scene.look(three!)).status).toBe('scheduled')
  })
}

function describeWaiting({ test, expect, open }: Contract): void {
  test('one that waits is scheduled, says why, and messages do not wake it', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1, true))
    const [one, two] = await starts(runtime, withKeys('a', 'a'))
    await runtime.claimed()

    expect(await scene.post(message(idOf(two!), '1'))).toEqual(['sent'])
    // Out of the way of claims until then.
    expect(await scene.inboxOf(two!)).toMatchObject([{ parked: true }])
    expect(await runtime.claimed({ hinted: [two!] })).toEqual([])
    expect(alive(await runtime.tick())).toMatchObject({ claimable: false, nextDue: null })
    expect(await scene.look(two!)).toMatchObject({ status: 'scheduled', wakeAt: null, mail: 1 })
    const { limit } = await scene.store.whereabouts(two!)
    expect(limit).toEqual({ key: 'a', concurrency: 1, rate: null, suspended: 0 })
    expect((await scene.store.whereabouts(one!)).limit).toBe(null)

    await end(runtime, one!)
    expect(await runtime.claimed()).toEqual([two])
    expect(await scene.waitingFor(two!)).toEqual(['message: 1'])
  })

  test('one that waits says how many places of its line suspended instances hold', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(2, true))
    const iids = await starts(runtime, withKeys('a', 'a', 'b', 'b', 'a', 'a'))
    const [one, , other, , waiting, suspended] = iids
    await runtime.claimed()
    const count = async (): Promise<number | undefined> =>
      (await scene.store.whereabouts(waiting!)).limit?.suspended

    // One in another line, and one that waits itself, hold none of them.
    await scene.store.suspend([other!, suspended!].map(idOf), '"why"')
    expect(await count()).toBe(0)
    await scene.store.suspend([idOf(one!)], '"why"')
    expect(await count()).toBe(1)
    await scene.store.resume([idOf(one!)])
    expect(await count()).toBe(0)
  })

  test('one that waits and is cancelled can be claimed at once, and takes no place', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one, two, three] = await starts(runtime, plain(3))
    await runtime.claimed()

    expect(await scene.post(stop(idOf(two!), 'cancel'))).toEqual(['sent'])
    expect(alive(await runtime.tick()).claimable).toBe(true)
    expect(await runtime.claimed()).toEqual([two])
    await end(runtime, two!)

    expect(await runtime.claimed()).toEqual([])
    await end(runtime, one!)
    expect(await runtime.claimed()).toEqual([three])
  })

  test('a child that waits can be claimed when its parent closes it', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const other = await scene.runtime({ workflows: ['parent'] })
    const parent = await other.ownOne()
    const [, child] = await starts(runtime, [{}, { parent: childOf(parent) }])
    await runtime.claimed()

    await other.turns(turnItem(parent, { effects: effects({ closes: [1] }) }))

    expect(await runtime.claimed()).toEqual([child])
    expect(await scene.waitingFor(child!)).toEqual(['cancel: "parent closed"'])
  })

  test('one that waits can be terminated, and the line moves on', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one, two, three, four] = await starts(runtime, plain(4))
    await runtime.claimed()

    await scene.store.terminate([termination(two!)])
    expect(await runtime.claimed()).toEqual([])
    await end(runtime, one!)
    await scene.store.terminate([termination(three!)])

    expect(await runtime.claimed()).toEqual([four])
    expect(await scene.under.rows(two!)).toMatchObject({ instances: 1, runs: 0 })
    expect(await scene.store.remove([idOf(two!), idOf(three!)])).toBe(2)
  })

  test('one that waits can be suspended: others pass it, and it keeps its place in line', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one, two, three, four] = await starts(runtime, plain(4))
    await runtime.claimed()

    await scene.store.suspend([idOf(two!)], '"why"')
    expect((await scene.look(two!)).status).toBe('suspended')
    await end(runtime, one!)
    expect(await runtime.claimed()).toEqual([three])
    await scene.store.resume([idOf(two!)])
    expect(await runtime.claimed()).toEqual([])
    await end(runtime, three!)

    expect(await runtime.claimed()).toEqual([two])
    expect((await scene.look(four!)).status).toBe('scheduled')
  })

  test('one that is suspended when it is about to be judged wakes the next', async () => {
    await using scene = await open()
    // Under a rate, no place is handed on without a judgement.
    const runtime = await limited(scene, perHundredSeconds(100, { concurrency: 1 }))
    const [one, two, three] = await starts(runtime, plain(3))
    await runtime.claimed()
    await end(runtime, one!)

    await scene.store.suspend([idOf(two!)], '"why"')

    expect(await runtime.claimed()).toEqual([three])
  })

  test('higher priorities are admitted first', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [running, ...rest] = await starts(runtime, [
      {},
      { priority: -5 },
      {},
      { priority: 10 },
      { priority: 10 },
    ])
    const order: Iid[] = []
    for (let current = await runtime.claimed(); current.length > 0;) {
      order.push(...current)
      await end(runtime, current[0]!)
      current = await runtime.claimed()
    }

    const [low, usual, high, higher] = rest
    expect(order).toEqual([high, higher, running, usual, low])
  })
}

function describeRates({ test, expect, open }: Contract): void {
  test('so many are admitted at once, and then one for each share of the time', async () => {
    await using scene = await open()
    const runtime = await limited(scene, perHundredSeconds(2))
    const iids = await starts(runtime, plain(5))

    expect(await runtime.claimed()).toEqual(iids.slice(0, 2))
    const { claims, nextDue, clock } = await runtime.claim()
    expect(claims).toEqual([])
    expect(nextDue! - clock).toBeGreaterThan(40_000)
    expect(nextDue! - clock).toBeLessThanOrEqual(50_001)
    await end(runtime, iids[0]!)
    expect(await runtime.claimed()).toEqual([])

    await scene.under.advance(50_001)
    await runtime.renew()
    expect(await runtime.claimed()).toEqual([iids[2]])
    await scene.under.advance(100_001)
    await runtime.renew()
    expect(await runtime.claimed()).toEqual([iids[3], iids[4]])
  })

  test('a rate and a concurrency hold together', async () => {
    await using scene = await open()
    const runtime = await limited(scene, perHundredSeconds(3, { concurrency: 2 }))
    const iids = await starts(runtime, plain(5))

    expect(await runtime.claimed()).toEqual(iids.slice(0, 2))
    await end(runtime, iids[0]!)
    expect(await runtime.claimed()).toEqual([iids[2]])
    await end(runtime, iids[1]!)
    // There is a place, but the rate is used up.
    expect(await runtime.claimed()).toEqual([])
    expect((await runtime.claim()).nextDue === null).toBe(false)
    await scene.under.advance(34_000)
    await runtime.renew()
    expect(await runtime.claimed()).toEqual([iids[3]])
  })

  test('each key has a rate of its own', async () => {
    await using scene = await open()
    const runtime = await limited(scene, perHundredSeconds(1, { keyed: true }))
    const [a, b] = await starts(runtime, withKeys('a', 'b', 'a', 'b'))

    expect(await runtime.claimed()).toEqual([a, b])
    expect(await runtime.claimed()).toEqual([])
  })
}

function describeKeys({ test, expect, open }: Contract): void {
  test('each key has a limit of its own, and none waits for another', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1, true))
    const [a, , b, , empty] = await starts(runtime, withKeys('a', 'a', 'b', 'a', '', 'b', ''))

    expect(sorted(await runtime.claimed())).toEqual([a, b, empty])
    expect(await runtime.claimed()).toEqual([])
  })

  test('a long line of one key does not delay the first start of another', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1, true))
    const first = await scene.store.reserve(1_501)
    const items = Array.from({ length: 1_501 }, (_, i) =>
      startItem(first + i, {
        workflow: runtime.workflows[0]!,
        owned: false,
        wakeAt: 1,
        limitKey: i === 1_500 ? 'small' : 'large',
      }),
    )
    await scene.store.start(items)

    // Named by a hint it comes first; otherwise when what came before it has been looked at.
    expect(await runtime.claimed({ hinted: [first + 1_500], limit: 1 })).toEqual([first + 1_500])
    expect(await runtime.claimed()).toEqual([first])
  })

  test('an instance whose key is not known is not claimed until it is set, once', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1, true))
    const [known, unknown] = await starts(runtime, [{ limitKey: 'a' }, {}])

    const answer = await runtime.claim()
    expect(answer.claims.map(({ iid }) => iid)).toEqual([known])
    expect(answer.unkeyed).toEqual([unknown])

    await scene.store.setLimitKeys([{ iid: unknown!, key: 'a' }])
    await scene.store.setLimitKeys([{ iid: unknown!, key: 'b' }])
    expect(await runtime.claimed()).toEqual([])
    await end(runtime, known!)
    expect(await runtime.claimed()).toEqual([unknown])
  })

  test('a limit without keys needs none, and ignores those of senders', async () => {
    await using scene = await open()
    const runtime = await limited(scene, atOnce(1))
    const [one] = await starts(runtime, [{ limitKey: 'a' }, { limitKey: 'b' }, {}])

    expect(await runtime.claimed()).toEqual([one])
    expect(await runtime.claimed()).toEqual([])
  })
}

function describeChanges({ test, expect, open }: Contract): void {
  test('the limit that was registered last applies, to those that wait as well', async () => {
    await using scene = await open()
    const before = await limited(scene, atOnce(1))
    const iids = await starts(before, plain(6))
    expect(await before.claimed()).toEqual(iids.slice(0, 1))

    const after = await limited(scene, atOnce(3))
    expect(await before.claimed()).toEqual(iids.slice(1, 3))
    const tighter = await limited(scene, atOnce(2))
    await end(before, iids[0]!)
    expect(await tighter.claimed()).toEqual([])
    await end(before, iids[1]!)
    expect(await after.claimed()).toEqual([iids[3]])
  })

  test('without a limit, everything that waits is admitted', async () => {
    await using scene = await open()
    const before = await limited(scene, atOnce(1, true))
    const iids = await starts(before, [{ limitKey: 'a' }, { limitKey: 'a' }, { limitKey: 'b' }, {}])
    expect(await before.claimed()).toEqual([iids[0], iids[2]])

    const after = await limited(scene)

    expect(sorted(await after.claimed())).toEqual([iids[1], iids[3]])
    const [next] = await starts(after, plain(1))
    expect(await after.claimed()).toEqual([next])
  })

  test('a new limit applies to starts that wait, and not to instances that run', async () => {
    await using scene = await open()
    const before = await limited(scene)
    const [running] = await starts(before, plain(1))
    expect(await before.claimed()).toEqual([running])
    const early = await starts(before, [{ workflow: before.workflows[1]! }, {}])
    const after = await limited(scene, atOnce(1))
    const [late] = await starts(after, plain(1))

    expect(await after.claimed()).toEqual([early[0]])
    await end(before, running!)
    expect(await after.claimed()).toEqual([])
    await end(after, early[0]!)
    expect(await after.claimed()).toEqual([early[1]])
    expect((await scene.look(late!)).status).toBe('scheduled')
  })

  test('a new limit applies to a start that was suspended before it began', async () => {
    await using scene = await open()
    const before = await limited(scene)
    const [suspended, cancelled] = await starts(before, plain(2))
    await scene.store.suspend([idOf(suspended!), idOf(cancelled!)], '"why"')
    const after = await limited(scene, atOnce(1))
    const [running] = await starts(after, plain(1))
    expect(await after.claimed()).toEqual([running])

    await scene.store.resume([idOf(suspended!), idOf(cancelled!)])
    await scene.store.post([stop(idOf(cancelled!), 'cancel')])

    // A request to end does not wait for a place.
    const { claims, hasMore } = await after.claim()
    expect([claims.map(({ iid }) => iid), hasMore]).toEqual([[cancelled], true])
    expect(await after.claimed()).toEqual([])
    expect((await scene.look(suspended!)).status).toBe('scheduled')
    await end(after, running!)
    expect(await after.claimed()).toEqual([suspended])
  })

  test('a new limit with keys has them computed for starts that wait', async () => {
    await using scene = await open()
    const before = await limited(scene)
    const iids = await starts(before, plain(2))

    const after = await limited(scene, atOnce(1, true))

    const { claims, unkeyed } = await after.claim()
    expect([claims, sorted(unkeyed!)]).toEqual([[], iids])
  })
}

function describeRaces({ test, expect, open }: Contract): void {
  test('claims at the same time admit no more than the limit', async () => {
    await using scene = await open()
    const actors = await Promise.all(
      [scene.store, await scene.under.another(), await scene.under.another()].map((store) =>
        limited(scene, atOnce(3, true), store),
      ),
    )
    const keys = Array.from({ length: 60 }, (_, i) => `key ${i % 4}`)
    const iids = await starts(actors[0]!, withKeys(...keys))
    const keyOf = new Map(iids.map((iid, i) => [iid, keys[i]!]))
    const running = new Map<Iid, Actor>()
    let done = 0
    for (let round = 0; done < iids.length && round < 200; round++) {
      const claimed = await Promise.all(
        actors.map(async (actor) => ({ actor, iids: await actor.claimed({ limit: 7 }) })),
      )
      for (const { actor, iids: own } of claimed) for (const iid of own) running.set(iid, actor)
      const counts = new Map<string, number>()
      for (const iid of running.keys()) {
        counts.set(keyOf.get(iid)!, (counts.get(keyOf.get(iid)!) ?? 0) + 1)
      }
      for (const count of counts.values()) expect(count).toBeLessThanOrEqual(3)
      // Half of them end, at the same time in all runtimes, and while others claim.
      const ending = [...running].filter((_, i) => (i + round) % 2 === 0)
      await Promise.all(
        actors.map((actor) =>
          actor.commit({
            turns: ending
              .filter(([, owner]) => owner === actor)
              .map(([iid]) => turnItem(iid, { turn: turnRow(2), next: END })),
          }),
        ),
      )
      for (const [iid] of ending) running.delete(iid)
      done += ending.length
    }

    expect(done).toBe(iids.length)
  })
}
