/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  cancelled,
  channel,
  type Code,
  completed,
  instanceWithPast,
  failed,
  fired,
  mail,
  play,
  post,
  readInstance,
  received,
  recorded,
  refusal,
  STARTED,
  statusOf,
  testInstance,
  turnRow,
  workflow,
} from '../../../../test/support/executions.ts'
import type { Loaded } from '../../../store/claims.ts'
import type { TurnRow } from '../../../store/commits.ts'
import { type EndOfExecution, type Event, readEvents, writeEvents } from '../../../store/history.ts'

const charge = activity('charge', (n: number) => n)
const orders = channel<string>('orders')
const sub = workflow('sub', async (n: number) => n)

const CHARGE = recorded.activity(1, 'charge', 1)
const TIMER = recorded.timer(1, 6)
const CHILD = recorded.child(1, 'sub', 1)

const chargeOnce: Code = (ctx) => ctx.run(charge, 1)
const sleepOnce: Code = (ctx) => ctx.sleep(5)
const receiveOnce: Code = (ctx) => ctx.receive(orders)
const childOnce: Code = (ctx) => ctx.run(sub, 1)

const ended = (status: EndOfExecution): Event => ({ type: 'ended', status })

/** Reads an instance whose rows of history are these. */
function read(...rows: Partial<TurnRow>[]): ReturnType<typeof readInstance> {
  const { definition, run } = testInstance('i')
  const history = rows.map((row, i) => ({
    execution: 1,
    turn: i + 1,
    at: 1,
    first: i + 1,
    count: 1,
    events: '',
    ...row,
  }))
  const { name, version } = definition
  const loaded: Loaded = {
    iid: 1,
    id: 'i',
    workflow: { name, version },
    execution: 1,
    parent: null,
    history,
    inbox: [],
    tasks: [],
  }
  return readInstance(loaded, definition, run)
}

const row = (...events: Event[]): Partial<TurnRow> => ({ events: writeEvents(events) })

describe('the structure of a history', () => {
  test.each<[string, Partial<TurnRow>[]]>([
    ['is empty [empty_history]', []],
    ['has no start [missing_started_event]', [row(CHARGE)]],
    ['starts with something else [started_not_first]', [row(CHARGE, STARTED)]],
  ])('is refused when it %s', (_, rows) => {
    expect(read(...rows).error).toMatchObject({
      message: 'history does not begin with "started"',
    })
  })

  test.each([
    ['may begin at 0 [event_id_zero]', [{ first: 0 }, { first: 1 }], 2],
    ['may have gaps [event_id_gap]', [{ first: 1 }, { first: 40 }], 41],
  ])('numbers of events %s', (_, [first, second], next) => {
    const { instance, error } = read({ ...row(STARTED), ...first }, { ...row(CHARGE), ...second })

    expect(error).toBeUndefined()
    expect(turnRow(instance, [completed(1)])).toMatchObject({ turn: 3, first: next })
  })

  test('command numbers must increase by one [non_monotonic_event_ids]', async () => {
    const code: Code = (ctx) => ctx.all([ctx.run(charge, 1), ctx.run(charge, 2)])
    const second = recorded.activity(2, 'charge', 2)

    expect((await refusal(code, second, CHARGE)).position).toBe(2)
  })
})

describe('a result without an open command', () => {
  test('is detected: its command was never issued [completion_source_not_found]', async () => {
    const error = await refusal(chargeOnce, CHARGE, completed(7))

    expect(error.message).toBe('completed for command 7, which is not open')
  })

  test('is detected: its command is of another kind [completion_source_wrong_type]', async () => {
    expect((await refusal(chargeOnce, CHARGE, fired(1))).position).toBe(1)
  })

  test('is detected: its command already has one [multiple_completions_same_source_in_history]', async () => {
    const code: Code = async (ctx) => {
      await ctx.run(charge, 1)
      return ctx.sleep('1d')
    }
    const past = [CHARGE, completed(1), completed(1), recorded.timer(2, 9_999)]

    expect((await refusal(code, ...past)).position).toBe(2)
  })

  test.each([
    ['an earlier execution [completion_for_different_execution]', 1],
    ['a later execution [completion_wrong_execution]', 3],
  ])('is left out: it is for %s', async (_, execution) => {
    const { instance, turn } = play(chargeOnce, testInstance('i', undefined, { execution: 2 }))
    post(instance, { kind: 'completed', execution, command: 1 })
    post(instance, { kind: 'failed', execution, command: 1 })

    expect((await turn(1)).events).toEqual([STARTED, CHARGE])
    expect(statusOf(instance)).toBe('running')
  })
})

describe('a history that has ended', () => {
  test.each<[string, Code, Event[], string]>([
    ['completed [terminal_completed]', async () => 'done', [ended('completed')], 'completed'],
    [
      'failed [terminal_failed]',
      async () => {
        throw new Error('no')
      },
      [ended('failed')],
      'failed',
    ],
    [
      'continued [terminal_continued_as_new]',
      (ctx) => ctx.continueAsNew(2 as never),
      [ended('continued')],
      'continued',
    ],
    [
      'ended twice [multiple_terminal_events]',
      async () => 'done',
      [ended('completed'), ended('failed')],
      'completed',
    ],
  ])('does nothing when it is claimed: %s', async (_, code, events, status) => {
    const { instance, turn } = play(code, instanceWithPast(...events))

    const { events: recordedNow, issued } = await turn(2, completed(1), fired(2))

    expect({ recordedNow, issued }).toEqual({ recordedNow: [], issued: [] })
    expect(statusOf(instance)).toBe(status)
  })

  test('has no results after its end [events_after_terminal]', async () => {
    const error = await refusal(async () => 'done', ended('completed'), completed(1))

    expect(error).toMatchObject({ position: 1, actual: 'the end of the workflow' })
  })

  test('cannot be cancelled [cancel_after_completed]', async () => {
    const { instance, turn } = play(async () => 'done', instanceWithPast(ended('completed')))

    expect((await turn(2, cancelled())).events).toEqual([])
    expect(statusOf(instance)).toBe('completed')
  })
})

describe('odd values', () => {
  test('a name cannot be empty: it is refused where it is given [empty_activity_name]', async () => {
    let thrown: unknown
    const code: Code = async (ctx) => {
      try {
        await ctx.step('', () => 1)
      } catch (error) {
        thrown = error
      }
    }
    await play(code).turn(1)

    expect(() => activity('', () => 1)).toThrow('name must be a string of 1 to 200 characters')
    expect((thrown as Error).message).toContain('name must be a string of 1 to 200 characters')
  })

  test.each([
    ['of any script [unicode_in_names]', 'größe-注文-🫖', 'ꙮ'],
    ['as long as may be [very_long_strings]', 'n'.repeat(200), 'v'.repeat(1_000_000)],
    [
      'full of odd characters [special_characters]',
      `"\\'\${x}%s;--<>|`,
      '\0\x1e\x1f\n\r\t"\\\ud800',
    ],
  ])('names and values come back as they were: %s', async (_, name, value) => {
    const code: Code = (ctx) =>
      ctx.run(
        activity(name, (text: string) => text),
        value,
      )
    const first = play(code)
    const live = await first.turn(1)
    const past = [{ at: 1, events: readEvents(writeEvents(live.events)) }]

    const second = play(code, testInstance('i', past))
    await second.turn(
      2,
      ...(readEvents(writeEvents([completed(1, value)])) as [ReturnType<typeof completed>]),
    )

    expect(past[0]!.events).toEqual(live.events)
    expect(second.instance.run.outcome).toEqual({ kind: 'returned', value })
  })
})

describe('the order of events', () => {
  test.each<[string, Code, Event, Event]>([
    ['of a timer [timer_fired_before_created]', sleepOnce, TIMER, fired(1)],
    ['of an activity [activity_completed_before_scheduled]', chargeOnce, CHARGE, completed(1)],
  ])('a result before its command is found: %s', async (_, code, command, input) => {
    const error = await refusal(code, input, command)

    expect(error).toMatchObject({ position: 1, expected: `nothing before "${input.type}"` })
  })

  test.each<[string, Event]>([
    ['of an activity [orphan_completion_no_schedule]', completed(3)],
    ['of a timer [orphan_timer_fired]', fired(3)],
    ['of a child [orphan_sub_orch_completed]', failed(3, new Error('x'))],
    ['of a receive', received(3, 'tea')],
  ])('a result without a command is found: %s', async (_, input) => {
    const error = await refusal(sleepOnce, TIMER, input)

    expect(error.message).toBe(`${input.type} for command 3, which is not open`)
  })

  test('a message for a channel that is never received from is kept [orphan_external_event]', async () => {
    const { instance, turn } = play(sleepOnce, instanceWithPast(TIMER))
    post(instance, { ...mail('orders', 'tea'), id: 91 })

    const { events, taken, effects } = await turn(2)

    expect({ events, taken }).toEqual({ events: [], taken: [] })
    expect(effects).toMatchObject({ parked: [91] })
    expect(instance.inbox.messages).toHaveLength(1)
  })
})

describe('a command that is recorded twice', () => {
  test.each<[string, Code, Event]>([
    ['an activity [duplicate_activity_schedule_in_history]', chargeOnce, CHARGE],
    ['a timer [duplicate_timer_schedule_in_history]', sleepOnce, TIMER],
    [
      'a receive [duplicate_external_subscription_in_history]',
      receiveOnce,
      recorded.receive(1, 'orders'),
    ],
    ['a child', childOnce, CHILD],
  ])('is found: %s', async (_, code, command) => {
    expect(await refusal(code, command, command)).toMatchObject({ position: 1, actual: 'nothing' })
  })
})
