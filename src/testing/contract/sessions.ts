import { effects } from './items.ts'
import { type Contract, named, sorted, turnItem, turnRow } from './scene.ts'
import {
  asking,
  beat,
  beatOf,
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

/** Sessions: all their tasks go to one runtime. */
export function describeSessions(contract: Contract): void {
  contract.describe('sessions', () => {
    describeAffinity(contract)
    describeRoom(contract)
  })
}

const S = { session: 's' }

function describeAffinity({ test, expect, open }: Contract): void {
  test(
    named(
      'a session goes to the first runtime that claims a task of it, and then all of it to no other',
      '[test_session_item_claimable_when_no_session]',
      '[test_session_affinity_same_worker]',
      '[test_session_affinity_blocks_other_worker]',
      '[test_different_sessions_different_workers]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      const sessions = ['s', 'S', 's', 'S', 's']
      await asking(
        a,
        sessions.map((session, i) => newTask(i + 1, { session })),
      )

      const [first] = await held(a, { limit: 1 })
      const second = await held(b, { limit: 1 })
      await finish(a, completed(first!))
      const rest = [await commandsOf(b), await commandsOf(a)]
      const later = await asking(b, [newTask(1, { ...S, activity: 'refund' })])
      const refund = { activities: ['refund'] }

      expect(first).toMatchObject({ command: 1, session: 's', attempt: 1 })
      expect(second).toMatchObject([{ command: 2, session: 'S' }])
      expect(rest).toEqual([[4], [3, 5]])
      expect(await held(b, refund)).toEqual([])
      expect((await heldOne(a, refund)).iid).toBe(later)
    },
  )

  test(
    named(
      'tasks with and without a session wait in one line, and those without go to any runtime',
      '[test_non_session_items_fetchable_by_any_worker]',
      '[test_mixed_session_and_non_session_items]',
      '[test_some_session_returns_all_items]',
      '[test_non_session_items_returned_with_session_config]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      await asking(a, [newTask(1, S), newTask(2), newTask(3, S), newTask(4), newTask(5)])
      await asking(a, [newTask(6, { session: 't' }), newTask(7), newTask(8, { session: 'u' })])

      expect(await commandsOf(a, { limit: 2 })).toEqual([1, 2])
      expect(await commandsOf(b, { limit: 1 })).toEqual([4])
      expect(await commandsOf(a, { limit: 2 })).toEqual([3, 5])
      expect(await commandsOf(b)).toEqual([6, 7, 8])
    },
  )

  test(
    named(
      'tasks of a session come in the order they were asked for, several at once if there is room',
      '[test_session_items_processed_in_order]',
      '[test_shared_worker_id_any_caller_can_fetch_owned_session]',
    ),
    async () => {
      await using scene = await open()
      const runtime = await scene.runtime()
      await asking(runtime, newTasks(6, S))

      const [first] = await held(runtime, { limit: 1 })
      await finish(runtime, completed(first!))

      expect(first!.command).toBe(1)
      expect(await commandsOf(runtime, { limit: 1 })).toEqual([2])
      expect(await commandsOf(runtime, { limit: 2 })).toEqual([3, 4])
      expect(await commandsOf(runtime)).toEqual([5, 6])
    },
  )

  test('of several concurrent claims of a session one gets it, with all its tasks [test_concurrent_session_claim_only_one_wins]', async () => {
    await using scene = await open()
    const runtimes = [await scene.runtime(), await scene.otherRuntime(), await scene.otherRuntime()]
    const sessions = ['a', 'b', 'c', 'd']
    const count = 24
    await asking(
      runtimes[0]!,
      newTasks(count).map((task, i) => ({ ...task, session: sessions[i % 4]! })),
    )

    const holders = new Map(sessions.map((session) => [session, new Set<number>()]))
    const taken: number[] = []
    // What a claim passes by because of another one is there for a later one.
    while (taken.length < count) {
      const rounds = await Promise.all(runtimes.map((runtime) => held(runtime, { limit: 3 })))
      for (const [i, tasks] of rounds.entries()) {
        for (const { session, command } of tasks) {
          holders.get(session)!.add(i)
          taken.push(command)
        }
      }
    }

    expect([...holders.values()].map((set) => set.size)).toEqual([1, 1, 1, 1])
    expect(sorted(taken)).toEqual(Array.from({ length: count }, (_, i) => i + 1))
  })

  test(
    named(
      'a task that comes back stays in its session, and so do those of later turns',
      '[test_abandoned_session_item_retryable]',
      '[test_abandoned_session_item_ignore_attempt]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      const iid = await asking(b, newTasks(2, S))
      const [first, second] = await held(a)

      await finish(a, retried(first!), released(second!))
      const tasks = [newTask(3, S)]
      await b.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ tasks }) }))

      expect(await held(b)).toEqual([])
      expect(await held(a)).toMatchObject([
        { command: 1, session: 's', attempt: 2 },
        { command: 2, session: 's', attempt: 1 },
        { command: 3, session: 's', attempt: 1 },
      ])
    },
  )

  test('a silent task of a session goes to the runtime that has the session [test_activity_lock_expires_session_lock_valid_same_worker_refetches]', async () => {
    await using scene = await open()
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    await asking(a, newTasks(2, S))
    const [silent, other] = await held(a)
    await beat(a, beatOf(silent!, { silentMs: 3_000 }), beatOf(other!))

    await scene.under.advance(4_000)

    expect(await held(b)).toEqual([])
    expect(await heldOne(a)).toMatchObject({ command: 1, attempt: 2 })
  })
}

function describeRoom({ test, expect, open }: Contract): void {
  test('a runtime owns tasks of a limited number of sessions, and any number of each [test_none_session_skips_session_items]', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    const other = await scene.otherRuntime()
    const sessions = ['a', 'b', 'a', 'c', 'b', '', 'c']
    await asking(
      runtime,
      sessions.map((session, i) => newTask(i + 1, { session })),
    )
    const room = { maxSessions: 2 }

    const none = await commandsOf(runtime, { maxSessions: 0 })
    const first = await held(runtime, { ...room, limit: 2 })
    const second = await held(runtime, room)
    const full = await commandsOf(runtime, room)
    await finish(runtime, completed(first[0]!))
    const stillFull = await commandsOf(runtime, room)
    await finish(runtime, completed(second.find(({ command }) => command === 3)!))
    const last = await commandsOf(runtime, room)

    expect(none).toEqual([6])
    expect(first.map(({ command }) => command)).toEqual([1, 2])
    expect(second.map(({ command }) => command)).toEqual([3, 5])
    expect([full, stillFull, last]).toEqual([[], [], [4, 7]])
    expect(await held(other, room)).toEqual([])
  })

  test('a session brings no task along that its runtime does not serve', async () => {
    await using scene = await open()
    const runtime = await scene.runtime()
    await asking(runtime, [
      newTask(1, S),
      newTask(2, { ...S, tag: 'gpu' }),
      newTask(3, { ...S, activity: 'refund' }),
      newTask(4, S),
      newTask(5, { ...S, tag: 'gpu' }),
    ])
    const room = { maxSessions: 1 }
    const tagged = { ...room, served: { untagged: false, tags: ['gpu'] } }

    expect(await commandsOf(runtime, { ...tagged, limit: 1 })).toEqual([2])
    expect(await commandsOf(runtime, tagged)).toEqual([5])
    expect(await commandsOf(runtime, room)).toEqual([1, 4])
    expect(await commandsOf(runtime, { ...room, activities: ['refund'] })).toEqual([3])
  })

  test('many tasks of a session that another runtime has, or that does not fit, hide no other task', async () => {
    await using scene = await open()
    const a = await scene.runtime()
    const b = await scene.otherRuntime()
    await asking(a, [
      ...newTasks(150, S),
      ...newTasks(300, { session: 't' }).slice(150),
      newTask(301),
    ])
    await held(a, { limit: 1 })

    expect(await commandsOf(b, { limit: 1, maxSessions: 0 })).toEqual([301])
    expect(await commandsOf(b, { limit: 1 })).toEqual([151])
  })
}
