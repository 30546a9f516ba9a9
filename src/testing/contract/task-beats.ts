import { type Contract, named } from './scene.ts'
import {
  asking,
  attemptAt,
  beat,
  beatOf,
  claimTasks,
  commandsOf,
  completed,
  drop,
  failed,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  released,
  retried,
} from './task-items.ts'

/** Heartbeats: what they pass on to the next attempt, and what follows when they stop. */
export function describeTaskBeats(contract: Contract): void {
  contract.describe('heartbeats of tasks', () => {
    describeBeats(contract)
    describeSilence(contract)
  })
}

function describeBeats({ test, expect, open }: Contract): void {
  test('a heartbeat of the owner counts, and its details are for the next attempt [test_worker_lock_renewal_success]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, [newTask(1)])
    const task = await heldOne(runtime)

    const answers = [
      await beat(runtime, beatOf(task, { details: '"first"' })),
      await beat(runtime, beatOf(task, { details: '"second"' })),
      await beat(runtime, beatOf(task)),
    ]
    await finish(runtime, released(task))
    const next = await heldOne(runtime)
    await beat(runtime, beatOf(next, { details: '""' }))
    await finish(runtime, retried(next))

    expect(answers).toEqual([[true], [true], [true]])
    expect([task.beat, next.beat, (await heldOne(runtime)).beat]).toEqual([null, '"second"', '""'])
  })

  test('a heartbeat of any other runtime does not, and changes nothing [test_worker_lock_renewal_invalid_token]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const stranger = await scene.otherRuntime()
    const iid = await asking(runtime, newTasks(2))
    const [task] = await held(runtime, { limit: 1 })
    await finish(runtime, retried(task!))
    const [again] = await held(runtime, { limit: 1 })
    const details = '"not mine"'

    const foreign = await beat(stranger, beatOf(again!, { details, silentMs: 0 }))
    const wrong = await beat(
      runtime,
      beatOf(task!, { details, silentMs: 0 }),
      beatOf({ ...again!, attempt: 3 }, { details }),
      beatOf({ ...again!, execution: 2 }, { details }),
      beatOf(attemptAt(iid, 2), { details }),
      beatOf(attemptAt(iid, 3), { details }),
    )

    expect([foreign, wrong]).toEqual([[false], [false, false, false, false, false]])
    expect(await commandsOf(stranger)).toEqual([2])
    await finish(runtime, retried(again!))
    expect((await heldOne(stranger)).beat).toBe(null)
  })

  test(
    named(
      'each attempt learns from its beat whether it is still wanted',
      '[test_renew_returns_running_when_orchestration_active]',
      '[test_worker_lock_renewal_after_ack]',
      '[test_renew_fails_when_entry_deleted]',
    ),
    async () => {
      await using scene = await open()
      const owner = await scene.runtime()
      const holder = await scene.otherRuntime()
      const iid = await asking(owner, newTasks(7))
      const [kept, done, bad, again, back, dropped, last] = await held(holder)
      await finish(holder, completed(done!), failed(bad!), retried(again!), released(back!))
      await drop(owner, iid, 6)

      const all = [last!, dropped!, back!, again!, bad!, done!, kept!]
      expect(await beat(holder, ...all.map((task) => beatOf(task)))).toEqual([
        true,
        ...Array.from({ length: 5 }, () => false),
        true,
      ])
      expect(await beat(holder)).toEqual([])
    },
  )

  test('a dead runtime learns that it is dead, and one whose lease ended unnoticed does not [test_worker_lock_renewal_after_expiration]', async () => {
    await using scene = await open()
    const dead = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(other, newTasks(1))
    const task = await heldOne(dead)
    await beat(dead, beatOf(task, { details: '"before"' }))

    await scene.under.kill(dead.runtime)
    const unnoticed = await beat(dead, beatOf(task, { details: '"late"' }))
    await other.tick()
    const buried = await beat(dead, beatOf(task, { details: '"too late"' }))

    expect([unnoticed, buried]).toEqual([[true], [false]])
    expect(await heldOne(other)).toMatchObject({ attempt: 2, beat: '"late"' })
    expect(await beat(dead, beatOf(task, { details: '"too late"' }))).toEqual([false])
  })
}

function describeSilence({ test, expect, open }: Contract): void {
  test('a task that is silent for longer than it said goes to another runtime, as the next attempt', async () => {
    await using scene = await open()
    const silent = await scene.runtime()
    const taker = await scene.otherRuntime()
    await asking(taker, newTasks(2))
    const [task, patient] = await held(silent)
    await beat(silent, beatOf(task!, { details: '"half"', silentMs: 10_000 }), beatOf(patient!))

    const early = await claimTasks(taker)
    await scene.under.advance(11_000)
    const late = await heldOne(taker)

    expect(early.tasks).toEqual([])
    expect(early.nextDue).toBeGreaterThanOrEqual(early.clock)
    expect(early.nextDue).toBeLessThanOrEqual(early.clock + 11_000)
    expect(late).toMatchObject({ command: 1, attempt: 2, deaths: 0, beat: '"half"' })
    expect(await beat(silent, beatOf(task!), beatOf(patient!))).toEqual([false, true])
  })

  test('a heartbeat in time extends the limit, and one without a limit removes it [test_worker_lock_renewal_extends_timeout]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    await asking(runtime, newTasks(2))
    const [regular, calm] = await held(runtime)
    const limits = [regular!, calm!].map((task) => beatOf(task, { silentMs: 60_000 }))
    await beat(runtime, ...limits)

    await scene.under.advance(45_000)
    await beat(runtime, beatOf(regular!, { silentMs: 60_000 }), beatOf(calm!, { silentMs: null }))
    await scene.under.advance(45_000)
    const extended = await commandsOf(other)
    await scene.under.advance(45_000)

    expect(extended).toEqual([])
    expect(await commandsOf(other)).toEqual([1])
    expect(await beat(runtime, beatOf(calm!))).toEqual([true])
  })

  test('a late heartbeat counts if no runtime has taken the task over', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, newTasks(2))
    const [a, b] = await held(runtime)
    await beat(runtime, beatOf(a!, { silentMs: 30_000 }), beatOf(b!, { silentMs: 30_000 }))
    await scene.under.advance(60_000)

    expect(await beat(runtime, beatOf(a!, { silentMs: 30_000 }))).toEqual([true])
    expect(await finish(runtime, failed(b!))).toEqual(['done'])
    expect(await held(runtime)).toEqual([])
  })

  test('the limit is that of one attempt: a takeover, or a later attempt, has none until it sets one', async () => {
    await using scene = await open()
    const silent = await scene.runtime()
    const taker = await scene.otherRuntime()
    await asking(taker, newTasks(4))
    const all = await held(silent)
    const [, b, c, d] = all
    await beat(silent, ...all.map((task) => beatOf(task, { silentMs: 5_000 })))
    await finish(silent, retried(b!), retried(c!, 30_000), released(d!, 30_000))
    await scene.under.advance(6_000)

    expect(await commandsOf(taker)).toEqual([1, 2])
    await scene.under.advance(40_000)
    const { tasks, nextDue } = await claimTasks(silent)

    expect(tasks.map(({ command }) => command)).toEqual([3, 4])
    expect(nextDue).toBe(null)
  })

  test('of the silent attempt, a later completion is accepted, nothing else is', async () => {
    await using scene = await open()
    const silent = await scene.runtime()
    const taker = await scene.otherRuntime()
    const iid = await asking(taker, [newTask(1)])
    const old = await heldOne(silent)
    await beat(silent, beatOf(old, { silentMs: 5_000 }))
    await scene.under.advance(6_000)
    const fresh = await heldOne(taker)

    for (const said of [failed(old), retried(old), released(old)]) {
      expect(await finish(silent, said)).toEqual(['gone'])
    }
    expect(await beat(taker, beatOf(fresh))).toEqual([true])
    expect(await finish(silent, completed(old, '"late"'))).toEqual(['done'])
    expect(await finish(taker, completed(fresh, '"again"'))).toEqual(['gone'])
    expect(await scene.waitingFor(iid)).toEqual(['completed: "late"'])
  })
}
