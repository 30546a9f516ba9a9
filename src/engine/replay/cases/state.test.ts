/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type Code,
  completed,
  instanceWithPast,
  nextExecution,
  play,
  recorded,
  refusal,
  restart,
  set,
  STARTED,
  stateKey,
  testInstance,
  values,
  type WorkflowContext,
} from '../../../../test/support/executions.ts'
import type { Event } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const count = stateKey<number>('count')
const note = stateKey<string>('note')

const CHARGE = recorded.activity(1, 'charge', 1)
const CLEARED = { type: 'cleared' } as const
const unset = (key: string): Event => ({ type: 'unset', key })

/** Changes state, then waits. */
const doing =
  (...changes: ((ctx: WorkflowContext) => void)[]): Code =>
  async (ctx) => {
    for (const change of changes) change(ctx)
    await ctx.run(charge, 1)
    return ctx.state.keys().map((key) => [key, ctx.state.get(stateKey(key))])
  }

/** Counts one up before each of its activities. */
const counting: Code = async (ctx) => {
  for (let i = 1; i <= 3; i++) {
    ctx.state.set(count, (ctx.state.get(count) ?? 0) + 1)
    await ctx.run(charge, i)
  }
  return ctx.state.get(count)
}

/** An execution that begins with this state. */
function beginningWith(
  state: Record<string, unknown>,
  past?: readonly Event[],
): ReturnType<typeof testInstance> {
  const entries = Object.entries(state).map(([key, value]) => [key, values.encode(value, key), 1])
  const started = { ...STARTED, state: JSON.stringify(entries) }
  const turns = past && [{ at: 1, events: [started, ...past] }]
  return testInstance('i', turns, { started })
}

describe('changes of state', () => {
  test('are recorded one by one [action_to_event_kv_variants]', async () => {
    const { turn } = play(
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.delete(count),
        ({ state }) => state.clear(),
      ),
    )

    const { events, effects } = await turn(1)

    expect(events.slice(1)).toEqual([set('count', 1), unset('count'), CLEARED, CHARGE])
    expect(effects).toMatchObject({ clearsState: true, state: [] })
  })

  test('take no number: commands are counted alone [replay_kv_no_token_binding]', async () => {
    const code: Code = async (ctx) => {
      ctx.state.set(count, 1)
      const first = ctx.run(charge, 1)
      ctx.state.set(count, 2)
      return ctx.all([first, ctx.run(charge, 2)])
    }
    const past = [set('count', 1), CHARGE, set('count', 2), recorded.activity(2, 'charge', 2)]
    const { instance, turn } = play(code, instanceWithPast(...past))

    await turn(2, completed(2, 'b'), completed(1, 'a'))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: ['a', 'b'] })
  })
})

describe('state after a restart', () => {
  test.each<[string, Code, Event[], unknown]>([
    [
      'a value that was set [replay_set_value_reconstructs_state]',
      doing(({ state }) => state.set(count, 1)),
      [set('count', 1)],
      [['count', 1]],
    ],
    [
      'the last of several values [replay_multiple_sets_last_wins]',
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.set(count, 2),
      ),
      [set('count', 1), set('count', 2)],
      [['count', 2]],
    ],
    [
      'what was set behind a clear [replay_clear_then_set]',
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.clear(),
        ({ state }) => state.set(note, 'new'),
      ),
      [set('count', 1), CLEARED, set('note', 'new')],
      [['note', 'new']],
    ],
    [
      'no key that was deleted [replay_clear_single_key]',
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.set(note, 'kept'),
        ({ state }) => state.delete(count),
      ),
      [set('count', 1), set('note', 'kept'), unset('count')],
      [['note', 'kept']],
    ],
  ])('is what the code made it: %s', async (_, code, past, value) => {
    const { instance, turn } = play(code, instanceWithPast(...past, CHARGE))

    await turn(2, completed(1))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value })
  })

  test.each<[string, Code, Event[]]>([
    [
      'a set [replay_set_value_matches_action]',
      doing(({ state }) => state.set(count, 1)),
      [set('count', 1)],
    ],
    [
      'a clear [replay_clear_all_values_matches_action]',
      doing(({ state }) => state.clear()),
      [CLEARED],
    ],
    [
      'a delete [replay_clear_value_matches_action]',
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.delete(count),
      ),
      [set('count', 1), unset('count')],
    ],
  ])('is not written again: %s', async (_, code, past) => {
    const { turn } = play(code, instanceWithPast(...past, CHARGE))

    const { events, effects } = await turn(2)

    expect({ events, effects }).toEqual({ events: [], effects: null })
  })

  test('is that of each place in the code [replay_kv_interleaved_with_activities]', async () => {
    const seen: unknown[] = []
    const code: Code = async (ctx) => {
      for (let i = 1; i <= 3; i++) {
        ctx.state.set(count, i * 10)
        await ctx.run(charge, i)
        seen.push(ctx.state.get(count))
      }
    }
    const { turn } = play(
      code,
      instanceWithPast(
        set('count', 10),
        CHARGE,
        completed(1),
        set('count', 20),
        recorded.activity(2, 'charge', 2),
        completed(2),
        set('count', 30),
        recorded.activity(3, 'charge', 3),
        completed(3),
      ),
    )

    expect((await turn(2)).events).toEqual([])
    expect(seen).toEqual([10, 20, 30])
  })

  test('continues with new changes after the end of history [new_kv_events_after_replay]', async () => {
    const { turn } = play(counting, instanceWithPast(set('count', 1), CHARGE))

    const { events, effects } = await turn(2, completed(1))

    expect(events).toEqual([completed(1), set('count', 2), recorded.activity(2, 'charge', 2)])
    expect(effects).toMatchObject({ state: [{ key: 'count', value: '2' }] })
  })

  test('does not depend on when it was set [kv_set_timestamp_mismatch_ok]', async () => {
    const past = [{ at: 9_000, events: [STARTED, set('count', 1), CHARGE] }]
    const { turn } = play(counting, testInstance('i', past))

    expect((await turn(9_001)).events).toEqual([])
  })
})

describe('a change of state that is not the one recorded', () => {
  test.each<[string, Code, Event[], string]>([
    [
      'a delete for a set [replay_set_value_mismatch_nondeterminism]',
      doing(
        ({ state }) => state.set(note, 'a'),
        ({ state }) => state.delete(note),
      ),
      [set('note', 'a'), set('note', 'b')],
      'the code once called state.set "note" to "b", but now calls state.delete "note"',
    ],
    [
      'a set for a delete [replay_clear_value_mismatch_nondeterminism]',
      doing(({ state }) => state.set(count, 1)),
      [unset('count')],
      'the code once called state.delete "count", but now calls state.set "count" to 1',
    ],
    [
      'another key [kv_set_key_mismatch_nondeterminism]',
      doing(({ state }) => state.set(count, 1)),
      [set('counter', 1)],
      'the code once called state.set "counter" to 1, but now calls state.set "count" to 1',
    ],
    [
      'another value [kv_set_value_mismatch_nondeterminism]',
      doing(({ state }) => state.set(count, 2)),
      [set('count', 1)],
      'the code once called state.set "count" to 1, but now calls state.set "count" to 2',
    ],
    [
      'another key that is deleted [kv_clear_key_mismatch_nondeterminism]',
      doing(
        ({ state }) => state.set(count, 1),
        ({ state }) => state.delete(count),
      ),
      [set('count', 1), unset('note')],
      'the code once called state.delete "note", but now calls state.delete "count"',
    ],
  ])('is found: %s', async (_, code, past, message) => {
    expect((await refusal(code, ...past, CHARGE)).message).toBe(message)
  })
})

describe('the state that an execution sees', () => {
  test('what it began with [kv_state_seeded_from_snapshot]', async () => {
    const { instance, turn } = play(doing(), beginningWith({ count: 7 }))

    await turn(1)
    await turn(2, completed(1))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: [['count', 7]] })
  })

  test('what it has set over that [kv_state_snapshot_overridden_by_code]', async () => {
    const code = doing(({ state }) => state.set(count, 8))
    const { instance, turn } = play(code, beginningWith({ count: 7 }))

    await turn(1)
    await turn(2, completed(1))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: [['count', 8]] })
  })

  test('what it set in the same turn [kv_get_value_same_turn]', async () => {
    const { instance, turn } = play(async ({ state }) => {
      const before = state.get(count)
      state.set(count, 1)
      return [before, state.get(count)]
    })

    await turn(1)

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: [undefined, 1] })
  })

  test('what it set in an earlier turn [kv_get_value_previous_turn]', async () => {
    const { instance, turn } = play(doing(({ state }) => state.set(count, 1)))

    await turn(1)
    await turn(2, completed(1))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: [['count', 1]] })
  })

  const continuing: Code = async (ctx) => {
    ctx.state.set(count, (ctx.state.get(count) ?? 0) + 1)
    await ctx.run(charge, 1)
    return ctx.info.execution < 3 ? ctx.continueAsNew(null as never) : ctx.state.get(count)
  }

  test('what an earlier execution set [kv_get_value_previous_execution]', async () => {
    const first = play(continuing)
    await first.turn(1)
    await first.turn(2, completed(1))
    const second = play(continuing, nextExecution(first.instance))

    const { events } = await second.turn(3)

    expect(events.slice(1)).toEqual([set('count', 2), CHARGE])
  })

  test('reads, changes and writes give the same over restarts [kv_read_modify_write_across_turns_replay]', async () => {
    let player = play(counting)
    await player.turn(1)

    for (let i = 1; i <= 3; i++) {
      player = restart(counting, player)
      await player.turn(i + 1, completed(i))
    }

    expect(player.instance.run.outcome).toEqual({ kind: 'returned', value: 3 })
  })

  test('never what it will write later: the past begins with what the execution began with [kv_read_modify_write_every_turn_snapshot_poisons_replay]', async () => {
    const past = [
      set('count', 6),
      CHARGE,
      completed(1),
      set('count', 7),
      recorded.activity(2, 'charge', 2),
    ]
    const { instance, turn } = play(counting, beginningWith({ count: 5 }, past))

    const { events } = await turn(2, completed(2))

    expect(events[1]).toEqual(set('count', 8))
    await turn(3, completed(3))
    expect(instance.run.outcome).toEqual({ kind: 'returned', value: 8 })
  })

  test('reads, changes and writes continue from execution to execution [kv_read_modify_write_with_can_snapshot]', async () => {
    let player = play(continuing)
    for (let execution = 1; ; execution++) {
      await player.turn(1)
      player = restart(continuing, player)
      await player.turn(2, completed(1))
      if (execution === 3) break
      player = play(continuing, nextExecution(player.instance))
    }

    expect(player.instance.run.outcome).toEqual({ kind: 'returned', value: 3 })
  })

  const clearingFirst = doing(
    ({ state }) => state.clear(),
    ({ state }) => state.set(note, 'new'),
  )

  test('nothing of what it cleared [kv_clear_all_then_set_replay]', async () => {
    const begun = beginningWith({ count: 7, note: 'old' }, [CLEARED, set('note', 'new'), CHARGE])
    const { instance, turn } = play(clearingFirst, begun)

    await turn(2, completed(1))

    expect(instance.run.outcome).toEqual({ kind: 'returned', value: [['note', 'new']] })
    expect(instance.writeState()).toBe(JSON.stringify([['note', '"new"', 1]]))
  })

  test('nothing of a key it deleted, when it counts anew [kv_clear_single_snapshot_key_then_rmw]', async () => {
    const code: Code = async (ctx) => {
      ctx.state.delete(count)
      return counting(ctx)
    }
    const past = [unset('count'), set('count', 1), CHARGE]
    const { turn } = play(code, beginningWith({ count: 7, note: 'kept' }, past))

    const { events } = await turn(2, completed(1))

    expect(events[1]).toEqual(set('count', 2))
  })
})
