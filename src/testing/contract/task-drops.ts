import { continuing, effects } from './items.ts'
import { type Contract, named, turnItem, turnRow } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  commandsOf,
  completed,
  drop,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
} from './task-items.ts'

/** Tasks that are no longer needed. */
export function describeTaskDrops({ describe, test, expect, open }: Contract): void {
  describe('drops of tasks', () => {
    test('dropped tasks are gone, owned or not, and the instance gets no result [test_cancelled_activities_deleted_from_worker_queue]', async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const iid = await asking(owner, newTasks(3))
      const [first] = await held(holder, { limit: 1 })

      await drop(owner, iid, 1, 2)

      expect((await scene.load(iid)).tasks).toEqual([{ command: 3, attempts: 0, isOwned: false }])
      expect(await beat(holder, beatOf(first!))).toEqual([false])
      expect(await finish(holder, completed(first!), completed(attemptAt(iid, 2)))).toEqual([
        'gone',
        'gone',
      ])
      expect(await commandsOf(holder)).toEqual([3])
      expect(await scene.inboxOf(iid)).toEqual([])
    })

    test(
      named(
        'tasks are dropped by the dozen, with or without a turn, without a result',
        '[test_batch_cancellation_deletes_multiple_activities]',
        '[test_ack_work_item_none_deletes_without_enqueue]',
      ),
      async () => {
        await using scene = await open()
        const runtime = await scene.runtime()
        const other = await asking(runtime, newTasks(30))
        const iid = await asking(runtime, newTasks(30))
        const even = Array.from({ length: 15 }, (_, i) => 2 * i + 2)

        await drop(runtime, iid, ...even)
        const verdicts = await runtime.turns(
          turnItem(iid, { effects: effects({ dropsTasks: [1, 3, 5] }) }),
          turnItem(other, { turn: turnRow(2) }),
        )

        const tasks = await held(runtime)
        const of = (one: number) => tasks.filter((task) => task.iid === one)
        expect(verdicts).toEqual(['done', 'done'])
        expect([of(other).length, of(iid).length]).toEqual([30, 12])
        expect(of(iid).every(({ command }) => command % 2 === 1 && command > 5)).toBe(true)
        expect(await scene.inboxOf(iid)).toEqual([])
      },
    )

    test('dropping what is not there, or no longer, is harmless [test_cancelling_nonexistent_activities_is_idempotent]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await asking(runtime, newTasks(3))
      const [done] = await held(runtime, { limit: 1 })
      await finish(runtime, completed(done!))

      const dropsTasks = [99, 1, 2, 2]
      const first = await runtime.turns(
        turnItem(iid, { turn: turnRow(2), effects: effects({ dropsTasks }) }),
      )
      const second = await runtime.turns(
        turnItem(iid, { turn: turnRow(3), effects: effects({ dropsTasks }) }),
      )

      expect([first, second]).toEqual([['done'], ['done']])
      expect(await commandsOf(runtime)).toEqual([3])
      expect((await scene.inboxOf(iid)).length).toBe(1)
    })

    test('a task that one turn creates and drops does not exist [test_same_activity_in_worker_items_and_cancelled_is_noop]', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()

      await runtime.turns(
        turnItem(iid, {
          turn: turnRow(2),
          effects: effects({ tasks: newTasks(3), dropsTasks: [2] }),
        }),
      )
      const started = await asking(runtime, [], {
        effects: effects({ tasks: newTasks(2), dropsTasks: [1] }),
      })

      expect((await scene.load(iid)).tasks.map(({ command }) => command)).toEqual([1, 3])
      expect((await scene.load(started)).tasks.map(({ command }) => command)).toEqual([2])
      expect(await commandsOf(runtime)).toEqual([1, 3, 2])
    })

    test('after a new execution began, commands are dropped of that one', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await runtime.ownOne()
      await runtime.turns(
        turnItem(iid, { turn: turnRow(2), next: continuing(runtime.workflows[0]!) }),
      )
      await runtime.turns(
        turnItem(iid, {
          turn: turnRow(2, { execution: 2 }),
          effects: effects({ tasks: newTasks(3) }),
        }),
      )

      await runtime.turns(turnItem(iid, { effects: effects({ dropsTasks: [1] }) }))
      await runtime.turns(
        turnItem(iid, {
          turn: turnRow(3, { execution: 2 }),
          effects: effects({ dropsTasks: [2] }),
        }),
      )

      expect(await heldOne(runtime)).toMatchObject({ execution: 2, command: 3 })
    })

    test('a command whose task was dropped can create a new one', async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await asking(runtime, [newTask(1)])
      const old = await heldOne(runtime)
      await drop(runtime, iid, 1)

      await runtime.turns(
        turnItem(iid, {
          turn: turnRow(3),
          effects: effects({ tasks: [newTask(1, { attempts: 3 })] }),
        }),
      )

      expect(await finish(runtime, released(old))).toEqual(['gone'])
      expect(await heldOne(runtime)).toMatchObject({ command: 1, attempt: 4 })
    })
  })
}
