import type { TaskResult } from '../../store/tasks.ts'
import { type Contract, named, result, turnItem, turnRow } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  bury,
  completed,
  failed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
  retried,
} from './task-items.ts'

/** What happens to the results of attempts. */
export function describeTaskResults(contract: Contract): void {
  contract.describe('results of tasks', () => {
    describeResults(contract)
    describeAgain(contract)
    describeOthers(contract)
  })
}

function describeResults({ test, expect, open }: Contract): void {
  test('a result takes the place of its task, in the inbox of its instance [test_worker_ack_atomicity]', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const holder = await scene.otherRuntime()
    const iid = await asking(owner, newTasks(2))
    const [good, bad] = await held(holder)

    const verdicts = await finish(holder, completed(good!, '"ü"'), failed(bad!, '"no"'))

    const row = { execution: 1, name: '', replyTo: '', parked: false }
    expect(verdicts).toEqual(['done', 'done'])
    expect(await scene.contentsOf(iid)).toEqual([
      { ...row, kind: 'completed', command: 1, payload: '"ü"' },
      { ...row, kind: 'failed', command: 2, payload: '"no"' },
    ])
    expect((await scene.load(iid)).tasks).toEqual([])
    expect(await held(holder)).toEqual([])
    expect(await owner.tick()).toMatchObject({ mail: [iid] })
    const taken = (await scene.inboxOf(iid)).map(({ id }) => id)
    await owner.turns(turnItem(iid, { turn: turnRow(2), taken }))
    expect(await scene.inboxOf(iid)).toEqual([])
  })

  test('a result makes an unowned instance claimable, and names the owner of the others', async () => {
    await using scene = await open()
    const owner = await scene.runtime()
    const silent = await scene.runtime()
    const holder = await scene.otherRuntime()
    const owned = await asking(owner, [newTask(1)])
    const stale = await asking(silent, [newTask(1)])
    const free = await asking(owner, [newTask(1)])
    await owner.turns(turnItem(free, { next: { kind: 'release', wakeAt: null } }))
    const tasks = await held(holder)
    await scene.under.kill(silent.runtime)

    const before = await holder.claimed()
    const verdicts = await holder.store.finishTasks(holder.runtime, [
      completed(tasks[0]!),
      failed(tasks[1]!),
      completed(tasks[2]!),
      completed(attemptAt(owned, 99)),
    ])

    expect(tasks.map(({ iid }) => iid)).toEqual([owned, stale, free])
    expect(verdicts.slice(0, 3)).toEqual([
      { verdict: 'done', owner: owner.runtime },
      { verdict: 'done', owner: silent.runtime },
      { verdict: 'done', owner: null },
    ])
    expect(verdicts[3]!.verdict).toBe('gone')
    expect([before, await holder.claimed()]).toEqual([[], [free]])
  })

  test('a result that came another way stays, and the task goes', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await asking(runtime, [newTask(1)])
    const task = await heldOne(runtime)
    await scene.store.send([result(iid, 1, '"first"')])

    const verdicts = await finish(runtime, completed(task, '"second"'))

    expect(verdicts).toEqual(['done'])
    expect(await scene.waitingFor(iid)).toEqual(['completed: "first"'])
    expect((await scene.load(iid)).tasks).toEqual([])
  })

  test('results are judged one by one, and answered in their order', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const a = await asking(runtime, newTasks(3))
    const b = await asking(runtime, newTasks(1))
    const [a1, a2, a3, b1] = await held(runtime)

    const verdicts = await finish(
      runtime,
      retried(b1!),
      completed({ ...a1!, execution: 2 }),
      completed(a1!),
      failed({ ...a2!, attempt: 7 }),
      released(a3!),
      failed(a2!),
      completed(attemptAt(123_456_789, 1)),
    )

    expect(verdicts).toEqual(['done', 'gone', 'done', 'gone', 'done', 'done', 'gone'])
    expect(await scene.waitingFor(a)).toEqual(['completed: "charged"', 'failed: "declined"'])
    expect((await held(runtime)).map(({ iid, command }) => [iid, command])).toEqual([
      [a, 3],
      [b, 1],
    ])
    expect(await finish(runtime)).toEqual([])
  })
}

function describeAgain({ test, expect, open }: Contract): void {
  test('a retry is another attempt, after its delay and with the error that was given', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const iid = await asking(runtime, [newTask(1)])
    const first = await heldOne(runtime)
    await beat(runtime, beatOf(first, { details: '"half"' }))

    expect(await finish(runtime, retried(first, 20_000))).toEqual(['done'])
    const early = await held(other)
    const { tasks } = await scene.load(iid)
    await scene.under.advance(21_000)
    const second = await heldOne(other)
    await finish(other, retried(second))
    const third = await heldOne(runtime)

    expect(early).toEqual([])
    expect(tasks).toEqual([{ command: 1, attempts: 1, isOwned: false }])
    expect([first.beat, second.beat, third.beat]).toEqual([null, '"half"', '"half"'])
    expect([first.attempt, second.attempt, third.attempt]).toEqual([1, 2, 3])
    expect(await scene.inboxOf(iid)).toEqual([])
  })

  test(
    named(
      'a release does not count as an attempt, however often there is one',
      '[abandon_work_item_ignore_attempt_decrements]',
      '[ignore_attempt_never_goes_negative]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const iid = await asking(runtime, [newTask(1)])

      const attempts: number[] = []
      for (const giveBack of [released, released, retried, released, released, retried, released]) {
        const task = await heldOne(runtime)
        attempts.push(task.attempt)
        expect(await finish(runtime, giveBack(task))).toEqual(['done'])
        expect(await finish(runtime, released(task))).toEqual(['gone'])
      }

      expect(attempts).toEqual([1, 1, 1, 2, 2, 2, 3])
      expect((await scene.load(iid)).tasks).toEqual([{ command: 1, attempts: 2, isOwned: false }])
    },
  )

  test(
    named(
      'what is released is there for others, at once or after a delay',
      '[test_abandon_work_item_releases_lock]',
      '[test_abandon_work_item_with_delay]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      const other = await scene.otherRuntime()
      await asking(runtime, newTasks(2))
      const [now, later] = await held(runtime)

      const before = await held(other)
      await finish(runtime, released(now!), released(later!, 20_000))
      const atOnce = await held(other)
      await scene.under.advance(21_000)

      expect(before).toEqual([])
      expect(atOnce).toMatchObject([{ command: 1, attempt: 1, deaths: 0 }])
      expect(await held(other)).toMatchObject([{ command: 2, attempt: 1, deaths: 0 }])
    },
  )

  test('a result that is sent twice counts once, even when the first was used [test_ack_work_item_fails_when_entry_deleted]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const iid = await asking(runtime, newTasks(4))
    const [done, bad, again, back] = await held(runtime)
    const said = [completed(done!), failed(bad!), retried(again!), released(back!)]

    const first = await finish(runtime, ...said)
    const second = await finish(runtime, ...said)

    expect(first).toEqual(['done', 'done', 'done', 'done'])
    expect(second).toEqual(['gone', 'gone', 'gone', 'gone'])
    const inbox = (await scene.inboxOf(iid)).map(({ id }) => id)
    await runtime.turns(turnItem(iid, { turn: turnRow(2), taken: inbox }))
    expect(inbox.length).toBe(2)
    expect(await finish(runtime, ...said)).toEqual(['gone', 'gone', 'gone', 'gone'])
    expect(await scene.inboxOf(iid)).toEqual([])
    expect((await scene.load(iid)).tasks).toEqual([
      { command: 3, attempts: 1, isOwned: false },
      { command: 4, attempts: 0, isOwned: false },
    ])
  })
}

function describeOthers({ test, expect, open }: Contract): void {
  /** What only the owner can report. */
  const HOLDERS_ONLY: readonly ((task: Parameters<typeof failed>[0]) => TaskResult)[] = [
    (task) => failed(task),
    (task) => retried(task),
    (task) => released(task),
  ]

  test('only the owner fails, retries or releases a task, and only the current attempt', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const iid = await asking(runtime, [newTask(1)])
    await finish(runtime, retried(await heldOne(runtime)))
    const task = await heldOne(runtime)

    for (const say of HOLDERS_ONLY) {
      expect(await finish(stranger, say(task))).toEqual(['gone'])
      expect(await finish(runtime, say({ ...task, attempt: 1 }))).toEqual(['gone'])
      expect(await finish(runtime, say({ ...task, attempt: 3 }))).toEqual(['gone'])
    }

    expect(await scene.inboxOf(iid)).toEqual([])
    expect((await scene.load(iid)).tasks).toEqual([{ command: 1, attempts: 2, isOwned: true }])
    expect(await beat(runtime, beatOf(task))).toEqual([true])
  })

  test('a dead runtime may still complete its tasks, and nothing else [test_worker_ack_fails_after_lock_expiry]', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await asking(taker, newTasks(2))
    const [free, taken] = await held(dead)
    await bury(scene, dead, taker)

    for (const say of HOLDERS_ONLY) expect(await finish(dead, say(free!))).toEqual(['gone'])
    const first = await finish(dead, completed(free!, '"late"'))
    const second = await heldOne(taker)
    for (const say of HOLDERS_ONLY) expect(await finish(dead, say(taken!))).toEqual(['gone'])
    const late = await finish(dead, completed(taken!, '"late too"'))

    expect(second).toMatchObject({ command: 2, attempt: 2 })
    expect([first, late]).toEqual([['done'], ['done']])
    expect(await finish(taker, completed(second, '"again"'))).toEqual(['gone'])
    expect(await beat(taker, beatOf(second))).toEqual([false])
    expect(await scene.waitingFor(iid)).toEqual(['completed: "late"', 'completed: "late too"'])
  })

  test('of two results of one task the first wins, even when they come at once', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await asking(taker, newTasks(10))
    const old = await held(dead)
    await bury(scene, dead, taker)
    const fresh = await held(taker)

    const rounds = await Promise.all(
      old.map((task, i) =>
        Promise.all([
          finish(dead, completed(task, `"old ${i}"`)),
          finish(taker, completed(fresh[i]!, `"new ${i}"`)),
        ]),
      ),
    )

    const outcomes = rounds.map(([a, b]) => [...a, ...b].toSorted().join(' and '))
    const winners = rounds.map(([[verdict]], i) => `${verdict === 'done' ? 'old' : 'new'} ${i}`)
    expect(new Set(outcomes)).toEqual(new Set(['done and gone']))
    expect((await scene.inboxOf(iid)).map(({ payload }) => payload!).toSorted()).toEqual(
      winners.map((winner) => `"${winner}"`).toSorted(),
    )
  })
}
