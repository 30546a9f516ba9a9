import { type Actor, type Contract, named, type Scene } from './scene.ts'
import {
  asking,
  beat,
  beatOf,
  bury,
  commandsOf,
  completed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
  retried,
} from './task-items.ts'

/** Runtimes that die with tasks, and tasks that runtimes die of. */
export function describeTaskDeaths(contract: Contract): void {
  contract.describe('deaths with tasks', () => {
    describeFreeing(contract)
    describeCare(contract)
  })
}

function describeFreeing({ test, expect, open }: Contract): void {
  test(
    named(
      'tasks of a runtime that died are free at once, each for another attempt of its own',
      '[worker_attempt_count_starts_at_one]',
      '[worker_attempt_count_increments_on_lock_expiry]',
      '[attempt_count_is_per_message]',
    ),
    async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const taker = await scene.otherRuntime()
      const iid = await asking(taker, newTasks(3))
      const tasks = await held(dead, { limit: 2 })
      await beat(dead, beatOf(tasks[0]!, { details: '"half"', silentMs: 600_000 }))

      await bury(scene, dead, taker)

      expect(tasks.map(({ attempt, deaths }) => [attempt, deaths])).toEqual([
        [1, 0],
        [1, 0],
      ])
      expect((await scene.load(iid)).tasks).toEqual([
        { command: 1, attempts: 1, isOwned: false },
        { command: 2, attempts: 1, isOwned: false },
        { command: 3, attempts: 0, isOwned: false },
      ])
      expect(await held(taker)).toMatchObject([
        { command: 1, attempt: 2, deaths: 1, beat: '"half"' },
        { command: 2, attempt: 2, deaths: 1, beat: null },
        { command: 3, attempt: 1, deaths: 0 },
      ])
    },
  )

  test('a task whose claim was never answered is handed out again once its runtime is dead [test_lost_lock_token_handling]', async () => {
    await using scene = await open()
    const lost = await scene.runtime()
    const taker = await scene.otherRuntime()
    await asking(taker, newTasks(1))
    await held(lost)
    await scene.under.kill(lost.runtime)

    const unnoticed = await held(taker)
    await taker.tick()

    expect(unnoticed).toEqual([])
    expect((await heldOne(taker)).attempt).toBe(2)
  })

  test('a runtime that leaves frees its tasks at once, and neither a death nor an attempt counts', async () => {
    await using scene = await open()
    const leaving = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(other, newTasks(2))
    const [task] = await held(leaving)

    await scene.store.unregister(leaving.runtime)

    expect(await beat(leaving, beatOf(task!))).toEqual([false])
    expect(await held(other)).toMatchObject([
      { attempt: 1, deaths: 0 },
      { attempt: 1, deaths: 0 },
    ])
  })

  test('a death frees tasks of that runtime, not tasks that wait for their time nor those of others', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const living = await scene.otherRuntime()
    await asking(living, newTasks(3))
    const [, waiting] = await held(dead, { limit: 2 })
    const kept = await heldOne(living)
    await finish(dead, retried(waiting!, 20_000))

    await bury(scene, dead, living)

    expect(await commandsOf(living)).toEqual([1])
    expect(await beat(living, beatOf(kept))).toEqual([true])
    await scene.under.advance(21_000)
    expect(await heldOne(living)).toMatchObject({ command: 2, attempt: 2, deaths: 0 })
  })

  test('several runtimes that notice a death at once count it once', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const takers = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    await asking(takers[0]!, newTasks(5))
    await held(dead)
    await scene.under.kill(dead.runtime)

    await Promise.all(takers.map((taker) => taker.tick()))

    const tasks = await held(takers[0]!)
    expect(tasks.map(({ attempt, deaths }) => [attempt, deaths])).toEqual(
      Array.from({ length: 5 }, () => [2, 1]),
    )
  })

  test('a runtime can read which tasks it owns, even those whose claim was never answered', async () => {
    await using scene = await open()
    const holder = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await asking(other, newTasks(3))
    const [first, second] = await held(holder, { limit: 2 })
    await finish(holder, completed(first!))

    expect(await holder.store.ownedTasks(holder.runtime)).toEqual([
      { iid, execution: 1, command: second!.command, attempt: 1 },
    ])
    expect(await other.store.ownedTasks(other.runtime)).toEqual([])
  })

  test('tasks that runtimes died with are handed out again when their instance is resumed', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await asking(taker, newTasks(1))
    await held(dead)
    await bury(scene, dead, taker)
    const task = await heldOne(taker)
    await finish(taker, released(task, 3_600_000))
    const [id] = [(await scene.load(iid)).id]
    await taker.store.suspend([id], 'null')
    expect(await held(taker)).toEqual([])

    await taker.store.resume([id])

    expect(await held(taker)).toMatchObject([{ command: 1, deaths: 0 }])
  })
}

function describeCare({ test, expect, open }: Contract): void {
  test('tasks that runtimes died with twice are handed out one at a time to each runtime, and hold up no others', async () => {
    await using scene = await open()
    const taker = await scene.otherRuntime()
    const other = await scene.runtime()
    await asking(taker, newTasks(4))
    await dieOf(scene, taker, 2)
    await asking(taker, [newTask(5), newTask(6)])

    const first = await held(taker)
    const none = await held(taker)
    const elsewhere = await commandsOf(other)
    await finish(taker, completed(first[0]!))
    const next = await commandsOf(taker)

    expect(first.map(({ command, deaths }) => [command, deaths])).toEqual([
      [1, 2],
      [5, 0],
      [6, 0],
    ])
    expect([none, elsewhere, next]).toEqual([[], [2], [3]])
    expect([await commandsOf(taker), await commandsOf(other)]).toEqual([[], []])
  })

  test('releasing one makes room for the next, and its deaths are remembered', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, newTasks(3))
    await dieOf(scene, runtime, 2)

    const first = await heldOne(runtime)
    await finish(runtime, retried(first, 20_000))
    const second = await heldOne(runtime)
    await finish(runtime, released(second, 20_000))
    const third = await heldOne(runtime)
    await finish(runtime, completed(third))
    await scene.under.advance(21_000)

    expect([first.command, second.command, third.command]).toEqual([1, 2, 3])
    expect(await heldOne(runtime)).toMatchObject({ command: 1, attempt: 4, deaths: 2 })
  })

  test('one death quarantines nothing, and a runtime that dies with a quarantined task counts for that task alone', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, newTasks(2))

    await dieOf(scene, runtime, 1)
    const afterOne = await held(runtime)
    await finish(runtime, ...afterOne.map((task) => released(task)))
    await dieOf(scene, runtime, 2)
    const first = await heldOne(runtime)
    await finish(runtime, completed(first))

    expect(afterOne.map(({ deaths }) => deaths)).toEqual([1, 1])
    expect([first.deaths, (await heldOne(runtime)).deaths]).toEqual([3, 2])
  })
}

/** Makes runtimes claim all they get and die, one after the other. */
async function dieOf(scene: Scene, witness: Actor, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const victim = await scene.runtime()
    await held(victim)
    await bury(scene, victim, witness)
  }
}
