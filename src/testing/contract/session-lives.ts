import { effects } from './items.ts'
import { type Contract, named, turnItem, turnRow } from './scene.ts'
import {
  asking,
  beat,
  beatOf,
  bury,
  commandsOf,
  completed,
  drop,
  finish,
  held,
  heldOne,
  newTask,
  newTasks,
  retried,
  SESSION_IDLE_MS,
} from './task-items.ts'

/** How long a session stays with its runtime: as long as that lives and has something to do. */
export function describeSessionLives(contract: Contract): void {
  contract.describe('lifetime of sessions', () => {
    describeIdle(contract)
    describeDeath(contract)
    describeForgetting(contract)
  })
}

const HOUR_MS = 3_600_000

/** Longer than a session lasts without a task. */
const IDLE_MS = SESSION_IDLE_MS + 1_000

/** Nearly as long as a session lasts without a task: two of them are too long. */
const NEARLY_IDLE_MS = SESSION_IDLE_MS - 15_000

const S = { session: 's' }

function describeIdle({ test, expect, open }: Contract): void {
  test(
    named(
      'a session is kept while one of its tasks is owned, and without one until it has been idle for too long',
      '[test_renew_session_lock_active]',
      '[test_renew_session_lock_skips_idle]',
      '[test_session_lock_renewal_extends_past_original_timeout]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      await asking(a, newTasks(2, { session: 'busy' }))
      await asking(a, newTasks(2, { session: 'idle', activity: 'refund' }))
      const refunds = { activities: ['refund'] }
      await held(a, { limit: 1 })
      await finish(a, completed((await held(a, { ...refunds, limit: 1 }))[0]!))

      const early = [await commandsOf(b), await commandsOf(b, refunds)]
      await scene.under.advance(2 * IDLE_MS)
      const patient = await commandsOf(b, { ...refunds, sessionIdleMs: 3 * IDLE_MS })
      const late = [await commandsOf(b), await commandsOf(b, refunds)]

      expect([early, patient, late]).toEqual([[[], []], [], [[], [2]]])
      expect(await commandsOf(a)).toEqual([2])
    },
  )

  test(
    named(
      'the runtime that had an idle session can have it again, and keeps others out then',
      '[test_original_worker_reclaims_expired_session]',
      '[test_session_lock_expires_same_worker_reacquires]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      await asking(a, newTasks(3, S))
      await finish(a, completed((await held(a, { limit: 1 }))[0]!))
      await scene.under.advance(IDLE_MS)

      const [again] = await held(a, { limit: 1 })
      await finish(a, completed(again!))

      expect(again!.command).toBe(2)
      expect(await commandsOf(b)).toEqual([])
      expect(await commandsOf(a)).toEqual([3])
    },
  )

  test(
    named(
      'a claim, a beat and the end of a task count as something to do; being dropped does not',
      '[test_ack_updates_session_last_activity]',
      '[test_renew_work_item_updates_session_last_activity]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const b = await scene.otherRuntime()
      const sessions = ['claimed', 'beaten', 'finished']
      const all = { activities: sessions }
      // Each session has an activity of its own, so that claims can be distinguished.
      const tasks = newTasks(9).map((task, i) => {
        const session = sessions[i % 3]!
        return { ...task, session, activity: session }
      })
      const iid = await asking(a, tasks)
      const [claimed, beaten, finished] = await held(a, { ...all, limit: 3 })
      await finish(a, completed(claimed!))

      await scene.under.advance(NEARLY_IDLE_MS)
      await held(a, { activities: ['claimed'], limit: 1 })
      await beat(a, beatOf(beaten!))
      await finish(a, completed(finished!))
      await scene.under.advance(NEARLY_IDLE_MS)
      await drop(a, iid, 2, 4)
      const early = await commandsOf(b, all)
      await scene.under.advance(NEARLY_IDLE_MS)

      expect(early).toEqual([])
      expect(await commandsOf(b, all)).toEqual([5, 6, 7, 8, 9])
    },
  )
}

function describeDeath({ test, expect, open }: Contract): void {
  test(
    named(
      'sessions of a runtime that died go to the first runtime that claims, with the tasks that it owned',
      '[test_session_claimable_after_lock_expiry]',
      '[test_session_lock_expires_new_owner_gets_redelivery]',
      '[test_session_takeover_after_lock_expiry]',
      '[test_both_locks_expire_different_worker_claims]',
    ),
    async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const b = await scene.otherRuntime()
      const c = await scene.otherRuntime()
      await asking(b, newTasks(4, S))
      const [done, silent] = await held(dead, { limit: 2 })
      await finish(dead, completed(done!))
      await beat(dead, beatOf(silent!, { silentMs: 1_000 }))
      await scene.under.advance(2_000)
      await scene.under.kill(dead.runtime)

      const unnoticed = await commandsOf(c)
      await b.tick()
      const [taken] = await held(c, { limit: 1 })

      expect(unnoticed).toEqual([])
      expect(taken).toMatchObject({ command: 2, attempt: 2 })
      expect(await commandsOf(b)).toEqual([])
      expect(await commandsOf(c)).toEqual([3, 4])
    },
  )

  test(
    named(
      'what a dead runtime completed is still taken, but no sign of it keeps the session',
      '[test_session_lock_expires_activity_lock_valid_ack_succeeds]',
      '[test_renew_session_lock_after_expiry_returns_zero]',
    ),
    async () => {
      await using scene = await open()
      const dead = await scene.runtime()
      const b = await scene.otherRuntime()
      const iid = await asking(b, newTasks(3, S))
      const [first, second] = await held(dead, { limit: 2 })
      await bury(scene, dead, b)

      expect(await beat(dead, beatOf(first!))).toEqual([false])
      expect(await finish(dead, completed(second!))).toEqual(['done'])

      expect(await commandsOf(b)).toEqual([1, 3])
      expect((await scene.inboxOf(iid)).length).toBe(1)
    },
  )

  test('a runtime that leaves releases its sessions at once', async () => {
    await using scene = await open()
    const leaving = await scene.runtime()
    const b = await scene.otherRuntime()
    await asking(b, newTasks(3, S))
    const [done] = await held(leaving, { limit: 2 })
    await finish(leaving, completed(done!))

    await scene.store.unregister(leaving.runtime)

    expect(await commandsOf(b)).toEqual([2, 3])
  })
}

function describeForgetting({ test, expect, open }: Contract): void {
  /** So long that only what a tick forgets is free. */
  const patient = { sessionIdleMs: 24 * HOUR_MS }

  test(
    named(
      'an old session without tasks is forgotten, and begins anew with the next one',
      '[test_cleanup_removes_expired_no_items]',
      '[test_cleanup_then_new_item_recreates_session]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      await asking(a, [newTask(1, S)])
      await finish(a, completed(await heldOne(a, patient)))
      await scene.under.advance(2 * HOUR_MS)
      await a.tick()
      const b = await scene.otherRuntime()
      await asking(b, newTasks(2, S))

      expect(await commandsOf(b, { ...patient, limit: 1 })).toEqual([1])
      expect(await commandsOf(a, patient)).toEqual([])
      expect(await commandsOf(b, patient)).toEqual([2])
    },
  )

  test(
    named(
      'one with tasks that wait or are held is not, nor a young one',
      '[test_cleanup_keeps_sessions_with_pending_items]',
      '[test_cleanup_keeps_active_sessions]',
    ),
    async () => {
      await using scene = await open()
      const a = await scene.runtime()
      const sessions = ['waiting', 'held', 'young']
      const iid = await asking(
        a,
        sessions.map((session, i) => newTask(i + 1, { session })),
      )
      const [waiting] = await held(a, { ...patient, limit: 2 })
      await finish(a, retried(waiting!, 3 * HOUR_MS))
      await scene.under.advance(2 * HOUR_MS)
      await finish(a, completed(await heldOne(a, patient)))
      await a.tick()
      const b = await scene.otherRuntime()
      const tasks = sessions.map((session, i) => newTask(i + 4, { session }))
      await a.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ tasks }) }))

      expect(await commandsOf(b, patient)).toEqual([])
      expect(await commandsOf(a, patient)).toEqual([4, 5, 6])
    },
  )
}
