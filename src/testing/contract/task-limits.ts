import type { TaskLimit } from '../../store/tasks.ts'
import { effects, END } from './items.ts'
import { type Contract, turnItem, turnRow } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  bury,
  claimTasks,
  commandsOf,
  completed,
  failed,
  finish,
  held,
  newTask,
  newTasks,
  released,
  retried,
} from './task-items.ts'

/** How many tasks may be owned and started, over all runtimes. */
export function describeTaskLimits(contract: Contract): void {
  contract.describe('limits of tasks', () => {
    describeConcurrency(contract)
    describeRates(contract)
  })
}

function atOnce(concurrency: number, key = 'bank'): { limit: TaskLimit } {
  return { limit: { key, concurrency, rate: null } }
}

function perHundredSeconds(count: number, key = 'bank'): { limit: TaskLimit } {
  return { limit: { key, concurrency: null, rate: { count, perMs: 100_000 } } }
}

function describeConcurrency({ test, expect, open }: Contract): void {
  test('this many tasks are owned at once, whichever runtimes own them and whatever they run', async () => {
    await using scene = await open()
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    const limit = atOnce(2)
    await asking(a, [newTask(1, limit), newTask(2, limit)])
    await asking(b, [newTask(3, { ...limit, activity: 'refund' }), newTask(4, limit), newTask(5)])
    const request = { activities: ['charge', 'refund'] }

    const [first] = await held(a, { ...request, limit: 1 })
    const second = await commandsOf(b, request)
    const none = await claimTasks(a, request)
    await finish(a, completed(first!))
    const third = await commandsOf(a, request)

    expect([first!.command, second, third]).toEqual([1, [2, 5], [3]])
    expect(none).toMatchObject({ state: 'ok', tasks: [], nextDue: null })
  })

  test('each key has a limit of its own, and tasks without one are not limited', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, [
      ...newTasks(2, atOnce(1, 'a')),
      ...[3, 4, 5].map((command) => newTask(command, atOnce(2, 'b'))),
      newTask(6, { limit: { key: 'c', concurrency: null, rate: null } }),
      newTask(7, { limit: { key: 'c', concurrency: null, rate: null } }),
      newTask(8),
      newTask(9, atOnce(1, '')),
      newTask(10, atOnce(1, '')),
    ])

    expect(await commandsOf(runtime)).toEqual([1, 3, 4, 6, 7, 8, 9])
    expect(await commandsOf(runtime)).toEqual([])
  })

  test('many tasks behind a limit hide no other task', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, [
      ...newTasks(150, atOnce(1, 'a')),
      ...newTasks(300, perHundredSeconds(1, 'b')).slice(150),
      newTask(301),
      newTask(302, atOnce(1, 'c')),
    ])

    expect(await commandsOf(runtime, { limit: 2 })).toEqual([1, 151])
    expect(await commandsOf(runtime, { limit: 2 })).toEqual([301, 302])
  })

  test('a place is free again when its task is done, failed, retried, released, dropped or ends with its instance', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const first = await asking(runtime, newTasks(5, atOnce(1)))
    const second = await asking(runtime, newTasks(1, atOnce(1)))
    const third = await asking(runtime, newTasks(1, atOnce(1)))
    const next = async () => {
      const [task, ...more] = await held(runtime)
      expect(more).toEqual([])
      return task!
    }

    const taken = [await next()]
    for (const say of [completed, failed]) {
      expect(await commandsOf(runtime)).toEqual([])
      await finish(runtime, say(taken.at(-1)!))
      taken.push(await next())
    }
    await finish(runtime, retried(taken.at(-1)!, 20_000))
    taken.push(await next())
    await finish(runtime, released(taken.at(-1)!, 20_000))
    taken.push(await next())
    await runtime.turns(
      turnItem(first, { turn: turnRow(2), effects: effects({ dropsTasks: [5] }) }),
    )
    taken.push(await next())
    await runtime.turns(turnItem(second, { turn: turnRow(2), next: END }))
    taken.push(await next())

    expect(taken.map(({ iid, command }) => [iid, command])).toEqual([
      ...[1, 2, 3, 4, 5].map((command) => [first, command]),
      [second, 1],
      [third, 1],
    ])
  })

  test('a place is free again when its owner dies or leaves', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const leaving = await scene.runtime()
    const taker = await scene.otherRuntime()
    await asking(taker, [newTask(1, atOnce(1, 'a')), newTask(2, atOnce(1, 'b'))])
    await held(dead, { limit: 1 })
    await held(leaving)

    const before = await commandsOf(taker)
    await bury(scene, dead, taker)
    await scene.store.unregister(leaving.runtime)

    expect(before).toEqual([])
    expect(await commandsOf(taker)).toEqual([1, 2])
  })

  test('an activity that runs at the owner and became a task counts like any other', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const iid = await asking(owner, [newTask(1, atOnce(1))])
    const local = { epoch: 1, task: newTask(2, atOnce(1)) }
    await beat(owner, beatOf(attemptAt(iid, 2), { local }))

    const full = await commandsOf(owner)
    await finish(owner, completed(attemptAt(iid, 2)))

    expect([full, await commandsOf(owner)]).toEqual([[], [1]])
  })

  test('a task that is taken over without heartbeats keeps its place', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(runtime, newTasks(2, atOnce(1)))
    const [task] = await held(runtime)
    await beat(runtime, beatOf(task!, { silentMs: 3_000 }))
    await scene.under.advance(4_000)

    const taken = await held(other)

    expect(taken.map(({ command, attempt }) => [command, attempt])).toEqual([[1, 2]])
    expect(await commandsOf(runtime)).toEqual([])
  })

  test('several concurrent claims never own more together', async () => {
    await using scene = await open()
    const runtimes = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    const iid = await asking(runtimes[0]!, newTasks(20, atOnce(3)))
    const most: number[] = []

    for (let left = 20; left > 0;) {
      const rounds = await Promise.all(runtimes.map((runtime) => held(runtime, { limit: 2 })))
      const { tasks } = await scene.load(iid)
      most.push(tasks.filter((task) => task.isOwned).length)
      for (const [i, taken] of rounds.entries()) {
        await finish(runtimes[i]!, ...taken.map((task) => completed(task)))
        left -= taken.length
      }
    }

    expect(Math.max(...most)).toBeGreaterThan(0)
    expect(Math.max(...most)).toBeLessThanOrEqual(3)
    expect((await scene.inboxOf(iid)).length).toBe(20)
  })
}

function describeRates({ test, expect, open }: Contract): void {
  test('as many tasks start at once as the rate allows, and then one at a time as time passes', async () => {
    await using scene = await open()
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    await asking(a, newTasks(9, perHundredSeconds(2)))

    const burst = [await commandsOf(a, { limit: 1 }), await commandsOf(b)]
    const none = await claimTasks(a)
    await scene.under.advance(30_000)
    const early = await commandsOf(a)
    await scene.under.advance(21_000)
    const one = await commandsOf(b)
    await scene.under.advance(51_000)
    const another = await commandsOf(a)

    expect(burst).toEqual([[1], [2]])
    expect(none.tasks).toEqual([])
    expect(none.nextDue).toBeGreaterThanOrEqual(none.clock)
    expect(none.nextDue).toBeLessThanOrEqual(none.clock + 51_000)
    expect([early, one, another]).toEqual([[], [3], [4]])
  })

  test('a long pause allows no more than the rate, and of two limits the stricter one counts', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const rate = { count: 4, perMs: 100_000 }
    await asking(runtime, newTasks(20, { limit: { key: 'both', concurrency: 3, rate } }))
    const takeAndFinish = async () => {
      const tasks = await held(runtime)
      await finish(runtime, ...tasks.map((task) => completed(task)))
      return tasks.map(({ command }) => command)
    }

    const first = [await takeAndFinish(), await takeAndFinish(), await takeAndFinish()]
    await scene.under.advance(600_000)
    const second = [await takeAndFinish(), await takeAndFinish(), await takeAndFinish()]

    expect(first).toEqual([[1, 2, 3], [4], []])
    expect(second).toEqual([[5, 6, 7], [8], []])
  })

  test('each started attempt counts, even when it has ended: retries count again', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, newTasks(3, perHundredSeconds(2)))
    const [done, again] = await held(runtime)

    await finish(runtime, completed(done!), retried(again!))
    const none = await commandsOf(runtime)
    await scene.under.advance(51_000)
    const retry = await held(runtime)

    expect(none).toEqual([])
    expect(retry.map(({ command, attempt }) => [command, attempt])).toEqual([[2, 2]])
  })

  test('several concurrent claims begin no more together', async () => {
    await using scene = await open()
    const runtimes = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    const limit = { key: 'slow', concurrency: null, rate: { count: 5, perMs: 3_600_000 } }
    await asking(runtimes[0]!, newTasks(20, { limit }))

    const begun: number[] = []
    while (begun.length < 5) {
      const rounds = await Promise.all(runtimes.map((runtime) => commandsOf(runtime, { limit: 3 })))
      begun.push(...rounds.flat())
    }

    expect(begun.length).toBe(5)
    for (const runtime of runtimes) expect(await commandsOf(runtime)).toEqual([])
  })
}
