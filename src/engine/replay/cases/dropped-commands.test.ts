/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type Branch,
  channel,
  type Code,
  completed,
  instanceWithPast,
  dropped,
  fired,
  mail,
  play,
  post,
  received,
  recorded,
  refusal,
  restart,
  STARTED,
  statusOf,
  workflow,
  type WorkflowContext,
} from '../../../../test/support/executions.ts'
import { CancelledError } from '../../../base/errors.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)
const CHILD = recorded.child(1, 'sub', 1)
const LATE = recorded.timer(2, 11)
const REST = recorded.timer(3, 86_400_002)

/** Races something against a timer, and goes on. */
const racing =
  (start: (ctx: WorkflowContext) => Branch): Code =>
  async (ctx) => {
    await ctx.race({ work: start(ctx), late: ctx.sleep(10) })
    await ctx.sleep('1d')
  }
const raceActivity = racing((ctx) => ctx.run(charge, 1))
const raceChild = racing((ctx) => ctx.run(sub, 1))

describe('the losers of a race', () => {
  test('are cancelled: an activity [select2_timer_wins_activity_cancelled]', async () => {
    const { turn } = play(raceActivity, instanceWithPast(CHARGE, LATE))

    const { events, dropped: closed } = await turn(2, fired(2))

    expect(events).toEqual([fired(2), dropped(1), REST])
    expect(closed).toEqual([1])
  })

  test('are cancelled: a timer, which then wakes no instance [select2_activity_wins_timer_not_cancelled]', async () => {
    const { instance, turn } = play(raceActivity, instanceWithPast(CHARGE, LATE))

    const { events } = await turn(2, completed(1))

    expect(events).toEqual([completed(1), dropped(2), REST])
    expect([...instance.run.open.keys()]).toEqual([3])
  })

  test('are all cancelled [select3_two_activities_cancelled]', async () => {
    const { turn } = play((ctx) =>
      ctx.race({ a: ctx.run(charge, 1), b: ctx.run(charge, 2), late: ctx.sleep(10) }),
    )
    await turn(1)

    const { events, dropped: closed } = await turn(2, fired(3))

    expect(events).toEqual([fired(3), dropped(1), dropped(2)])
    expect(closed).toEqual([1, 2])
  })

  test('do not include commands with a result [completed_future_not_in_cancelled_list]', async () => {
    const code: Code = async (ctx) => {
      const first = ctx.run(charge, 1)
      await first
      await ctx.race({ second: ctx.run(charge, 2), late: ctx.sleep(10) })
    }
    const { turn } = play(code, instanceWithPast(CHARGE))
    await turn(2, completed(1))

    expect((await turn(3, fired(3))).dropped).toEqual([2])
  })

  test('are closed: a child [sub_orch_select_loser_child_cancelled]', async () => {
    const { turn } = play(raceChild, instanceWithPast(CHILD, LATE))

    const { events, dropped: closed, effects } = await turn(2, fired(2))

    expect(events).toEqual([fired(2), dropped(1), REST])
    expect(closed).toEqual([1])
    expect(effects).toMatchObject({ closes: [1] })
  })

  test('are the same on replay [replay_select_loser_same_cancellation]', async () => {
    const first = play(raceActivity)
    await first.turn(1)
    await first.turn(2, fired(2))
    const second = restart(raceActivity, first)

    const { events, dropped: closed } = await second.turn(3)

    expect({ events, closed }).toEqual({ events: [], closed: [] })
    expect([...second.instance.run.open.keys()]).toEqual([...first.instance.run.open.keys()])
  })
})

describe('a command that the code cancels', () => {
  const callingOff =
    (start: (ctx: WorkflowContext) => { cancel(reason?: string): void }): Code =>
    async (ctx) => {
      const command = start(ctx)
      command.cancel('not needed')
      await ctx.sleep('1d')
    }

  test('is never carried out: an activity [explicit_drop_activity_gets_cancelled]', async () => {
    const { events, issued } = await play(callingOff((ctx) => ctx.run(charge, 1))).turn(1)

    expect(events.slice(1, 3)).toEqual([CHARGE, dropped(1)])
    expect(issued.map(({ event }) => event.command)).toEqual([2])
  })

  test('never fires: a timer [explicit_drop_timer_no_cancel_needed]', async () => {
    const { turn } = play(callingOff((ctx) => ctx.sleep(10)))

    const { events } = await turn(1)

    expect(events.slice(1, 3)).toEqual([recorded.timer(1, 11), dropped(1)])
    expect((await turn(11, fired(1))).events).toEqual([])
  })

  test('takes no message: a receive [explicit_drop_external_wait]', async () => {
    const code: Code = async (ctx) => {
      const first = ctx.receive(orders)
      const second = ctx.receive(orders)
      first.catch(() => {})
      first.cancel()
      return second
    }
    const { instance, turn } = play(code)
    await turn(1)
    post(instance, mail('orders', 'tea'))

    expect((await turn(2)).events).toEqual([received(2, 'tea')])
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 'tea' })
  })

  test('is one of many [multiple_dropped_activities_all_cancelled]', async () => {
    const code: Code = async (ctx) => {
      const all = [1, 2, 3].map((n) => ctx.run(charge, n))
      await ctx.sleep(10)
      for (const command of all) command.cancel()
      await ctx.sleep('1d')
    }
    const { turn } = play(code)
    await turn(1)

    expect((await turn(11, fired(4))).dropped).toEqual([1, 2, 3])
  })

  test('is never started: a child [sub_orch_drop_after_schedule_cancelled]', async () => {
    const { events, issued, effects } = await play(callingOff((ctx) => ctx.run(sub, 1))).turn(1)

    expect(events.slice(1, 3)).toEqual([CHILD, dropped(1)])
    expect(issued.map(({ event }) => event.command)).toEqual([2])
    expect(effects).toMatchObject({ closes: [1] })
  })

  test('is left alone when it has a result: a child [completed_sub_orch_not_cancelled]', async () => {
    const code: Code = async (ctx) => {
      const child = ctx.run(sub, 1)
      await child
      child.cancel()
      await ctx.sleep('1d')
    }
    const { turn } = play(code, instanceWithPast(CHILD))

    const { events, effects } = await turn(2, completed(1))

    expect(events).toEqual([completed(1), recorded.timer(2, 86_400_002)])
    expect(effects).toBeNull()
  })

  test('rejects with a CancelledError that says why [explicit_drop_then_await_captures_cancellation]', async () => {
    let caught: unknown
    const code: Code = async (ctx) => {
      const command = ctx.run(charge, 1)
      command.cancel('not needed')
      await command.catch((error: unknown) => (caught = error))
      await ctx.sleep('1d')
    }

    const { events } = await play(code).turn(1)

    expect(caught).toBeInstanceOf(CancelledError)
    expect(caught).toMatchObject({ reason: 'not needed' })
    expect(events[2]).toEqual(dropped(1))
  })

  const laterOn =
    (start: (ctx: WorkflowContext) => { cancel(reason?: string): void }): Code =>
    async (ctx) => {
      const command = start(ctx)
      await ctx.sleep(10)
      command.cancel()
      await ctx.sleep('1d')
    }
  const activityLater = laterOn((ctx) => ctx.run(charge, 1))
  const childLater = laterOn((ctx) => ctx.run(sub, 1))

  test('in a later turn is recorded and stopped: an activity [cross_turn_activity_cancellation_emits_both_signals]', async () => {
    const { turn } = play(activityLater, instanceWithPast(CHARGE, LATE))

    const { events, dropped: closed } = await turn(2, fired(2))

    expect(events).toContainEqual(dropped(1))
    expect(closed).toEqual([1])
  })

  test('in a later turn is recorded and closed: a child [cross_turn_sub_orch_cancellation_emits_both_signals]', async () => {
    const { turn } = play(childLater, instanceWithPast(CHILD, LATE))

    const { events, effects } = await turn(2, fired(2))

    expect(events).toContainEqual(dropped(1))
    expect(effects).toMatchObject({ closes: [1] })
  })

  test('is not stopped again on replay [replay_does_not_reemit_activity_cancellation_side_channel_when_already_in_history]', async () => {
    const { turn } = play(activityLater, instanceWithPast(CHARGE, LATE, fired(2), dropped(1), REST))

    const { events, dropped: closed } = await turn(3)

    expect({ events, closed }).toEqual({ events: [], closed: [] })
  })

  test('is not closed again on replay [replay_does_not_reemit_sub_orch_cancellation_side_channel_when_already_in_history]', async () => {
    const { turn } = play(childLater, instanceWithPast(CHILD, LATE, fired(2), dropped(1), REST))

    const { events, effects } = await turn(3)

    expect({ events, effects }).toEqual({ events: [], effects: null })
  })

  test('in this turn is new beside one that is recorded [replay_allows_new_cancellations_in_current_turn_even_when_prior_cancellations_exist]', async () => {
    const code: Code = async (ctx) => {
      const [first, second] = [ctx.run(charge, 1), ctx.run(charge, 2)]
      await ctx.sleep(10)
      first.cancel()
      await ctx.sleep(10)
      second.cancel()
      await ctx.sleep(10)
    }
    const first = play(code)
    await first.turn(1)
    await first.turn(11, fired(3))
    const second = restart(code, first)

    const { events, dropped: closed } = await second.turn(21)

    expect(events).toEqual([fired(4), dropped(2), recorded.timer(5, 31)])
    expect(closed).toEqual([2])
  })

  test.each([
    ['an activity [duplicate_activity_cancel_requested_is_benign]', activityLater, CHARGE],
    ['a child [duplicate_sub_orch_cancel_requested_is_benign]', childLater, CHILD],
  ])('may be recorded twice: %s', async (_, code, command) => {
    const past = instanceWithPast(command, LATE, fired(2), dropped(1), dropped(1), REST)
    const { turn } = play(code, past)

    const { events, dropped: closed, effects } = await turn(3)

    expect({ events, closed, effects }).toEqual({ events: [], closed: [], effects: null })
  })

  test('ignores a result that comes later, now or on replay [replay_tolerates_completion_after_cancel_request]', async () => {
    const first = play(activityLater, instanceWithPast(CHARGE, LATE, fired(2), dropped(1), REST))

    const { events } = await first.turn(3, completed(1, 'late'))

    expect(events).toEqual([])
    const second = restart(activityLater, first)
    await second.turn(86_400_002)
    expect(statusOf(second.instance)).toBe('completed')
  })

  const stillWaiting: Code = async (ctx) => {
    const command = ctx.run(charge, 1)
    await ctx.sleep(10)
    await ctx.sleep('1d')
    command.cancel()
  }

  test.each<[string, Code, Event[]]>([
    [
      'waits for it [replay_fails_when_cancellation_decisions_differ]',
      (ctx) => ctx.run(charge, 1),
      [CHARGE, dropped(1)],
    ],
    [
      'keeps it for later [replay_fails_if_persisted_dropped_future_cancel_is_no_longer_emitted_by_code]',
      stillWaiting,
      [CHARGE, LATE, fired(2), dropped(1), REST],
    ],
  ])('is found when the code now %s', async (_, code, past) => {
    const error = await refusal(code, ...past)

    expect(error.message).toBe('command 1 was cancelled, but the code now still waits for it')
  })
})

describe('commands that are left at the end', () => {
  test('are cancelled, after sends and starts were carried out', async () => {
    const code: Code = async (ctx) => {
      void ctx.run(charge, 1)
      void ctx.get('other').send(orders, 'tea')
      ctx.start(sub, 1, { id: 'own' }).catch(() => {})
      return 'done'
    }
    const { instance, turn } = play(code)

    const { events, issued } = await turn(1)

    expect(events).toEqual([
      STARTED,
      CHARGE,
      expect.objectContaining({ type: 'send', command: 2 }),
      expect.objectContaining({ type: 'start', command: 3 }),
      dropped(1),
    ])
    expect(issued.map(({ event }) => event.command)).toEqual([2, 3])
    expect(statusOf(instance)).toBe('running')
    await turn(2, completed(2), completed(3))
    expect(statusOf(instance)).toBe('completed')
  })
})
