import { type Contract, sorted } from './scene.ts'
import {
  asking,
  claimTasks,
  commandsOf,
  completed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
  retried,
  taskRequest,
} from './task-items.ts'

/** Which tasks are handed out, to which runtime, and in which order. */
export function describeTaskClaims(contract: Contract): void {
  contract.describe('claims of tasks', () => {
    describeOrder(contract)
    describeTimes(contract)
  })
}

function describeOrder({ test, expect, open }: Contract): void {
  test('the oldest is handed out first, of whichever activity, as many as there is room for [test_worker_queue_fifo_ordering]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const first = await asking(
      runtime,
      ['refund', 'charge', 'charge'].map((activity, i) => newTask(i + 1, { activity })),
    )
    const second = await asking(
      runtime,
      ['refund', 'charge'].map((activity, i) => newTask(i + 1, { activity })),
    )
    const taken = async (limit: number) =>
      (await held(runtime, { activities: ['charge', 'refund'], limit })).map(({ iid, command }) => [
        iid,
        command,
      ])

    expect(await taken(0)).toEqual([])
    expect(await taken(2)).toEqual([
      [first, 1],
      [first, 2],
    ])
    expect(await taken(2)).toEqual([
      [first, 3],
      [second, 1],
    ])
    expect(await taken(100)).toEqual([[second, 2]])
    expect(await taken(100)).toEqual([])
  })

  test('an owned task is hidden and kept until its result is stored [test_worker_peek_lock_semantics]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await asking(runtime, [newTask(1)])
    const task = await heldOne(runtime)

    const hidden = [await held(runtime), await held(other)]
    const { tasks } = await scene.load(iid)
    await finish(runtime, completed(task))

    expect(hidden).toEqual([[], []])
    expect(tasks).toEqual([{ command: 1, attempts: 1, isOwned: true }])
    expect((await scene.load(iid)).tasks).toEqual([])
    expect(await held(other)).toEqual([])
  })

  test('many concurrent claims get each task once, and all of them', async () => {
    await using scene = await open()
    const runtimes = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    const iid = await asking(runtimes[0]!, newTasks(60))

    const taken: number[] = []
    // A claim may skip rows that another claim has locked: a runtime that got nothing asks again.
    while (taken.length < 60) {
      const rounds = await Promise.all(
        Array.from({ length: 9 }, (_, i) => commandsOf(runtimes[i % 3]!, { limit: 4 })),
      )
      taken.push(...rounds.flat())
    }

    expect(sorted(taken)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
    expect((await scene.load(iid)).tasks.every((task) => task.isOwned && task.attempts === 1)).toBe(
      true,
    )
  })

  test('tasks of activities and tags that are served elsewhere are never claimed, and hide no task behind them', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await asking(runtime, [
      ...newTasks(150, { activity: 'elsewhere' }),
      ...newTasks(300, { tag: 'gpu' }).slice(150),
      newTask(301, { activity: 'refund' }),
      newTask(302),
      newTask(303, { tag: 'cpu' }),
    ])

    expect(await commandsOf(runtime, { activities: [] })).toEqual([])
    expect(await commandsOf(runtime, { activities: ['Charge', 'charg', 'charge2'] })).toEqual([])
    expect(await commandsOf(runtime, { limit: 2 })).toEqual([302])
    const served = { untagged: true, tags: ['cpu'] }
    expect(await commandsOf(runtime, { limit: 1, served })).toEqual([303])
    expect(await commandsOf(runtime, { activities: ['charge', 'refund'] })).toEqual([301])
    const { tasks } = await scene.load(iid)
    expect(tasks.slice(0, 300).some((task) => task.isOwned || task.attempts > 0)).toBe(false)
  })
}

function describeTimes({ test, expect, open }: Contract): void {
  test('a task that is not visible yet is skipped, and is claimed at its time [test_worker_delayed_visibility_skips_future_items]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, newTasks(2))
    const [first] = await held(runtime, { limit: 1 })
    await finish(runtime, retried(first!, 20_000))

    const second = await claimTasks(runtime)
    const none = await claimTasks(runtime)
    await scene.under.advance(21_000)

    expect(second.tasks.map(({ command }) => command)).toEqual([2])
    for (const { clock, nextDue } of [second, none]) {
      expect(nextDue).toBeGreaterThanOrEqual(clock)
      expect(nextDue).toBeLessThanOrEqual(clock + 21_000)
    }
    expect(none.tasks).toEqual([])
    expect(await commandsOf(runtime)).toEqual([1])
  })

  test('the next due time is that of the earliest task that this runtime could run', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, [...newTasks(3), newTask(4, { activity: 'refund' })])
    const delays = [25_000, 5_000, 15_000, 1_000]
    const tasks = await held(runtime, { activities: ['charge', 'refund'] })
    const before = await claimTasks(runtime)

    await finish(runtime, ...tasks.map((task, i) => retried(task, delays[i])))
    const { clock, nextDue } = await claimTasks(runtime)
    const elsewhere = await claimTasks(runtime, { activities: ['other'] })

    expect([before.nextDue, elsewhere.nextDue]).toEqual([null, null])
    expect(nextDue).toBeGreaterThanOrEqual(clock)
    expect(nextDue).toBeLessThanOrEqual(clock + 6_000)
  })

  test('a task is not started after its start timeout; one that was started before is started again', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const startBy = (await scene.clock()) + 60_000
    const iid = await asking(runtime, [
      newTask(1, { startBy }),
      newTask(2, { startBy }),
      newTask(3, { startBy: startBy - 70_000, attempts: 1 }),
      newTask(4, { startBy: startBy - 70_000 }),
      newTask(5, { startBy, activity: 'refund' }),
      newTask(6, { activity: 'refund' }),
    ])
    const inTime = await held(runtime)
    const [retry, release, again] = inTime
    await finish(runtime, retried(retry!), released(release!), retried(again!))

    await scene.under.advance(61_000)
    const late = await claimTasks(runtime, { activities: ['charge', 'refund'] })

    const seen = (tasks: typeof inTime) => tasks.map(({ command, attempt }) => [command, attempt])
    expect(seen(inTime)).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ])
    expect(seen(late.tasks)).toEqual([
      [1, 2],
      // Started in time, and released.
      [2, 1],
      [3, 3],
      [6, 1],
    ])
    expect(late.nextDue).toBe(null)
    expect((await scene.load(iid)).tasks[3]).toEqual({ command: 4, attempts: 0, isOwned: false })
  })

  test('a runtime that left, died or never existed gets nothing', async () => {
    await using scene = await open()
    const left = await scene.runtime()
    const dead = await scene.runtime()
    const living = await scene.otherRuntime()
    await asking(living, newTasks(1))
    await left.store.unregister(left.runtime)
    await scene.under.kill(dead.runtime)
    await living.tick()

    for (const runtime of [left.runtime, dead.runtime, 4_711]) {
      const answer = await scene.store.claimTasks(taskRequest(runtime))
      expect(answer).toMatchObject({ state: 'dead', tasks: [] })
    }
    expect((await held(living)).length).toBe(1)
  })
}
