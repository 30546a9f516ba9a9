import type { TickAnswer } from '../../store/runtimes.ts'
import type { ServedTags, TaskInterest } from '../../store/tasks.ts'
import { type Actor, alive, type Contract, PAST_LEASE_MS, type Scene, turnItem } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  bury,
  completed,
  drop,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
  retried,
} from './task-items.ts'

/** What a tick says about tasks. */
export function describeTaskTicks(contract: Contract): void {
  contract.describe('ticks about tasks', () => {
    describeNextTask(contract)
    describeWanted(contract)
    describeHelped(contract)
    describeStranded(contract)
  })
}

const UNTAGGED: ServedTags = { untagged: true, tags: [] }

function can(activities: readonly string[], served = UNTAGGED): TaskInterest {
  return { activities, served }
}

/** How long it is until the next task can be claimed: 0 for now, `null` for never. */
async function untilNext(runtime: Actor, tasks: TaskInterest | null): Promise<number | null> {
  const { clock, nextTask } = alive(await runtime.tick(runtime.workflows, { tasks }))
  return nextTask === null ? null : Math.max(0, nextTask - clock)
}

function describeNextTask({ test, expect, open }: Contract): void {
  test('a tick says whether there is a claimable task that the runtime can run', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const before = await untilNext(runtime, can(['charge']))
    await asking(runtime, [newTask(1, { tag: 'gpu' }), newTask(2, { activity: 'refund' })])
    const cases: readonly [TaskInterest | null, number | null][] = [
      [null, null],
      [can([]), null],
      [can(['charge', 'other']), null],
      [can(['charge'], { untagged: true, tags: ['cpu'] }), null],
      [can(['charge'], { untagged: false, tags: ['gpu'] }), 0],
      [can(['charge'], { untagged: false, tags: 'any' }), 0],
      [can(['refund'], { untagged: false, tags: 'any' }), null],
      [can(['other', 'refund']), 0],
    ]

    for (const [tasks, until] of cases) {
      const got = await untilNext(runtime, tasks)
      expect({ tasks, until: got }).toEqual({ tasks, until })
    }
    await held(runtime, { activities: ['refund'] })

    expect([before, await untilNext(runtime, can(['refund']))]).toEqual([null, null])
  })

  test('a tick says when the next task is claimable: when its delay ends, or its heartbeat timeout', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(runtime, newTasks(2))
    const [silent, delayed] = await held(other)
    await finish(other, retried(delayed!, 25_000))

    const delay = await untilNext(runtime, can(['charge']))
    await beat(other, beatOf(silent!, { silentMs: 15_000 }))
    const silence = await untilNext(runtime, can(['charge']))
    await scene.under.advance(16_000)
    const now = await untilNext(runtime, can(['charge']))

    expect(delay).toBeGreaterThan(0)
    expect(delay).toBeLessThanOrEqual(26_000)
    expect(silence).toBeGreaterThan(0)
    expect(silence).toBeLessThanOrEqual(16_000)
    expect(now).toBe(0)
  })

  test('tasks of a runtime that is found dead are claimable now', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(other, [newTask(1)])
    await held(dead)

    const before = await untilNext(other, can(['charge']))
    await scene.under.kill(dead.runtime)

    expect([before, await untilNext(other, can(['charge']))]).toEqual([null, 0])
  })
}

function describeWanted({ test, expect, open }: Contract): void {
  test('a tick says of each attempt whether it is still wanted', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const holder = await scene.otherRuntime()
    const iid = await asking(owner, newTasks(5))
    const [kept, dropped, done, back, again] = await held(holder)
    await drop(owner, iid, 2)
    await finish(holder, completed(done!), released(back!, 60_000), retried(again!))
    const fresh = await heldOne(holder)

    const wanted = async (runtime: Actor) =>
      alive(
        await runtime.tick(runtime.workflows, {
          ownedTasks: [
            fresh,
            dropped!,
            kept!,
            done!,
            back!,
            again!,
            attemptAt(iid, 99),
            { ...kept!, execution: 2 },
          ],
        }),
      ).wanted

    expect(fresh).toMatchObject({ command: 5, attempt: 2 })
    expect(await wanted(holder)).toEqual([true, false, true, false, false, false, false, false])
    expect(await wanted(owner)).toEqual(Array.from({ length: 8 }, () => false))
    expect(alive(await holder.tick()).wanted).toEqual([])
  })

  test('an attempt that another runtime took over is not wanted', async () => {
    await using scene = await open()
    const silent = await scene.runtime()
    const taker = await scene.otherRuntime()
    await asking(taker, [newTask(1)])
    const task = await heldOne(silent)
    await beat(silent, beatOf(task, { silentMs: 5_000 }))
    await scene.under.advance(6_000)
    const wanted = async () =>
      alive(await silent.tick(silent.workflows, { ownedTasks: [task] })).wanted

    const before = await wanted()
    await held(taker)

    expect([before, await wanted()]).toEqual([[true], [false]])
  })
}

/** Of what it can run itself, what others can help a runtime with. */
async function helped(
  runtime: Actor,
  tasks: TaskInterest | null = can(['a', 'b', 'c']),
): Promise<string[]> {
  return alive(await runtime.tick(runtime.workflows, { tasks })).helped.toSorted()
}

/** A runtime reports by default that it has nothing to do. */
function idle(runtime: Actor, tasks: TaskInterest | null, is = true): Promise<TickAnswer> {
  return runtime.tick(runtime.workflows, { tasks, idle: is })
}

function describeHelped({ test, expect, open }: Contract): void {
  test('a tick names the activities that another, idle runtime could run', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const one = await scene.otherRuntime()
    const two = await scene.otherRuntime()

    const nobody = await helped(runtime)
    await idle(one, can(['b', 'x']))
    const first = await helped(runtime)
    await idle(two, can(['c', 'b']))
    const both = await helped(runtime)
    await idle(one, can(['b', 'x']), false)
    await idle(two, can(['c']))

    expect([nobody, first, both]).toEqual([[], ['b'], ['b', 'c']])
    expect(await helped(runtime)).toEqual(['c'])
    expect(await helped(runtime, can(['x']))).toEqual([])
    expect(await helped(runtime, null)).toEqual([])
  })

  test('the runtime itself is not named, nor one that runs no tasks, or only those with tags', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    await idle(runtime, can(['a']))
    const itself = alive(await idle(runtime, can(['a']))).helped

    await idle(other, can(['a'], { untagged: false, tags: ['gpu'] }))
    const tagsOnly = await helped(runtime)
    await idle(other, can(['a'], { untagged: true, tags: ['gpu'] }))
    const both = await helped(runtime)
    await idle(other, null)

    expect([itself, tagsOnly, both]).toEqual([[], [], ['a']])
    expect(await helped(runtime)).toEqual([])
  })

  test('nor one that left, died, or did not renew its lease', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const [left, dead, late] = [
      await scene.runtime(),
      await scene.otherRuntime(),
      await scene.otherRuntime(),
    ]
    await idle(left, can(['a']))
    await idle(dead, can(['b']))
    await idle(late, can(['c']))

    const all = await helped(runtime)
    await scene.store.unregister(left.runtime)
    await bury(scene, dead, runtime)
    const answer = await idle(dead, can(['b']))
    const one = await helped(runtime)
    await scene.under.advance(PAST_LEASE_MS)

    expect([all, answer.state, one]).toEqual([['a', 'b', 'c'], 'dead', ['c']])
    expect(await helped(runtime)).toEqual([])
  })
}

function describeStranded({ test, expect, open }: Contract): void {
  test('a tick names unowned instances that wait for activities which are not known', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const kept = await asking(owner, [newTask(1, { activity: 'pack' })])
    const left = await asking(owner, [newTask(1, { activity: 'pack' })])
    await owner.turns(turnItem(left, { next: { kind: 'release', wakeAt: null } }))
    const strandedBy = async (
      tasks: TaskInterest | null,
      unknown: readonly string[] = [],
    ): Promise<readonly number[]> =>
      alive(await other.tick(other.workflows, { tasks, unknown })).stranded

    expect(await strandedBy(can([]))).toEqual([left])
    expect(await strandedBy(can(['charge']))).toEqual([left])
    expect(await strandedBy(can(['pack']))).toEqual([])
    expect(await strandedBy(can(['charge']), ['pack'])).toEqual([])
    expect(await strandedBy(null)).toEqual([])
    expect(alive(await other.tick([], { tasks: can([]) })).stranded).toEqual([])

    expect((await other.claim()).claims).toEqual([])
    expect((await other.claim({ hinted: [kept, left] })).claims).toMatchObject([{ iid: left }])
    expect(await strandedBy(can([]))).toEqual([])
  })

  for (const [what, abandon] of Object.entries(ABANDONED)) {
    test(`so is one whose task ${what}, when it is claimable`, async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const other = await scene.otherRuntime()
      const left = await asking(owner, [newTask(1, { activity: 'pack' })])
      await owner.turns(turnItem(left, { next: { kind: 'release', wakeAt: null } }))
      const strandedBy = async (tasks: TaskInterest): Promise<readonly number[]> =>
        alive(await other.tick(other.workflows, { tasks })).stranded

      await abandon(scene, owner, other)

      expect(await strandedBy(can([]))).toEqual([left])
      expect(await strandedBy(can(['pack']))).toEqual([])
    })
  }

  test('one whose task waits for a later time is not named yet', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const other = await scene.otherRuntime()
    const left = await asking(owner, [newTask(1, { activity: 'pack' })])
    await finish(owner, retried(await heldOne(owner, PACK), 600_000))
    await owner.turns(turnItem(left, { next: { kind: 'release', wakeAt: null } }))

    expect(alive(await other.tick(other.workflows, { tasks: can([]) })).stranded).toEqual([])
  })
}

const PACK = { activities: ['pack'] }

/** Ways in which a task is not running, but can be claimed by a runtime that names its activity. */
const ABANDONED: Record<string, (scene: Scene, owner: Actor, other: Actor) => Promise<void>> = {
  'waited for its next attempt': async (scene, owner) => {
    await finish(owner, retried(await heldOne(owner, PACK), 1_000))
    await scene.under.advance(1_001)
  },
  'gives no sign of life any more': async (scene, owner) => {
    await beat(owner, beatOf(await heldOne(owner, PACK), { silentMs: 1_000 }))
    await scene.under.advance(1_001)
  },
  'was held by two that died': async (scene, _, other) => {
    for (const victim of [await scene.runtime(), await scene.runtime()]) {
      await heldOne(victim, PACK)
      await bury(scene, victim, other)
    }
  },
}
