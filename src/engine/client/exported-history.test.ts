import { describe, expect, test } from 'vitest'

import type { TurnRow } from '../../store/commits.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import { encodeReply } from '../core/replies.ts'
import { valuesOf } from '../core/values.ts'
import { exportHistory, readExported } from './exported-history.ts'
import { historyEvents } from './history-events.ts'

const values = valuesOf(undefined)
const value = (any: unknown): string => values.encode(any, 'value')
const error = values.encodeError(new RangeError('why'))
const other = { workflow: 'v', version: '2.0.0', id: 'x', input: value([1n]), options: '{"a":1}' }

const STARTED: Event = {
  type: 'started',
  workflow: 'w',
  version: '1.0.0',
  input: value({ when: new Date(0) }),
  seed: 'ab',
  parentId: 'p',
  state: JSON.stringify([['k', value(new Map([[1, undefined]])), 5]]),
}

// One of each, in an order that a history can have.
const ALL: Event[] = [
  STARTED,
  {
    type: 'activity',
    command: 1,
    name: 'a',
    input: value('!x'),
    where: 'local',
    tag: '',
    session: '',
  },
  { type: 'step', command: 2, name: 's' },
  { type: 'timer', command: 3, fireAt: 1_000 },
  { type: 'child', command: 4, ...other },
  { type: 'start', command: 5, ...other },
  { type: 'receive', command: 6, name: 'c', until: 0 },
  { type: 'receive', command: 7, name: 'c', until: 2_000 },
  { type: 'send', command: 8, id: 'x', name: 'c', capacity: 10, value: value(undefined) },
  { type: 'read', command: 9, id: 'x', key: 'k' },
  { type: 'attempt', command: 1, attempt: 1, retryAt: 3_000, error },
  { type: 'completed', command: 1, value: value(-0) },
  { type: 'failed', command: 2, error },
  { type: 'fired', command: 3 },
  { type: 'received', command: 6, value: value('m'), replyTo: 'r' },
  { type: 'replied', to: 'r', ok: true, value: encodeReply(true, value('yes')) },
  { type: 'replied', to: 'r', ok: false, value: encodeReply(false, error) },
  { type: 'cancelled', reason: '"enough"' },
  { type: 'dropped', command: 4 },
  { type: 'set', key: 'k', value: value(1) },
  { type: 'unset', key: 'k' },
  { type: 'cleared' },
  { type: 'progress', value: value('half') },
  { type: 'patched', change: 'c1' },
  { type: 'ended', status: 'cancelled' },
]

const turn = (events: readonly Event[], at = 10): TurnRow => ({
  execution: 2,
  turn: 1,
  at,
  first: 1,
  count: events.length,
  events: writeEvents(events),
})

describe('an export', () => {
  test('comes back from JSON as the events it was made of', () => {
    const exported = exportHistory('i', [turn(ALL)], values, undefined)

    const read = readExported(JSON.parse(JSON.stringify(exported)), values)

    expect(read).toEqual({
      id: 'i',
      workflow: 'w',
      version: '1.0.0',
      execution: 2,
      isRedacted: false,
      moments: ALL.map((event) => ({ at: 10, event })),
    })
    expect(readExported(exported, values)).toEqual(read)
  })

  test('can be read by a client with another codec', () => {
    const secret = valuesOf({
      encode: (any) => `secret ${JSON.stringify(any)}`,
      decode: (text) => JSON.parse(String(text).slice(7)) as unknown,
    })
    const events: Event[] = [{ ...STARTED, input: secret.encode('in', 'x'), state: '' }]

    const exported = exportHistory('i', [turn(events)], secret, undefined)
    const [first] = readExported(exported, values).moments

    expect(first?.event).toMatchObject({ input: '"in"' })
  })

  test('has what redact returns in place of each value, error and state value', () => {
    const seen: unknown[] = []

    const exported = exportHistory('i', [turn(ALL)], values, (any, at) => {
      seen.push([at.seq, at.type])
      return any instanceof Error ? new Error('hidden') : 'hidden'
    })

    expect(seen).toEqual([
      [1, 'started'],
      [1, 'started'],
      [2, 'activity'],
      [5, 'child'],
      [6, 'start'],
      [9, 'send'],
      [11, 'attempt'],
      [12, 'completed'],
      [13, 'failed'],
      [15, 'received'],
      [16, 'replied'],
      [17, 'replied'],
      [20, 'set'],
      [23, 'progress'],
    ])
    expect(JSON.stringify(exported)).not.toMatch(/why|half|yes/)
    expect(readExported(exported, values).moments).toHaveLength(ALL.length)
  })
})

test('events show values, dates and errors, not encoded text', () => {
  const events = [...historyEvents([turn(ALL)], values)]

  expect(events[0]).toEqual({
    seq: 1,
    type: 'started',
    at: new Date(10),
    data: {
      workflow: 'w',
      version: '1.0.0',
      input: { when: new Date(0) },
      seed: 'ab',
      parentId: 'p',
      state: { k: { value: new Map([[1, undefined]]), at: new Date(5) } },
    },
  })
  expect(events[3]?.data).toEqual({ command: 3, fireAt: new Date(1_000) })
  expect(events[6]?.data).toEqual({ command: 6, name: 'c', until: undefined })
  expect(events[12]?.data).toEqual({ command: 2, error: new RangeError('why') })
  expect(events[17]?.data).toEqual({ reason: 'enough' })
})

function good(): Record<string, unknown> {
  const exported = exportHistory('i', [turn(ALL.slice(0, 13))], values, undefined)
  return JSON.parse(JSON.stringify(exported)) as Record<string, unknown>
}

describe('an import is refused', () => {
  const withEvent = (seq: number, change: Record<string, unknown>): unknown => {
    const exported = good() as { events: Record<string, unknown>[] }
    Object.assign(exported.events[seq - 1]!, change)
    return exported
  }
  const withData = (seq: number, change: Record<string, unknown>): unknown => {
    const exported = good() as { events: { data: object }[] }
    Object.assign(exported.events[seq - 1]!.data, change)
    return exported
  }

  test.each([
    ['nothing', null, 'import: needs an exported history, got null'],
    ['a list', [], 'import: holdfast must be 1, got undefined'],
    ['another form', { ...good(), holdfast: 2 }, 'import: holdfast must be 1, got 2'],
    ['no events', { ...good(), events: [] }, 'import: events must be a list of events'],
    ['no id', { ...good(), id: '' }, 'import: id must be a string'],
    ['no version', { ...good(), version: 1 }, 'import: version must be a semantic version'],
    ['execution 0', { ...good(), execution: 0 }, 'import: execution must be 1 or more, got 0'],
    ['a gap', withEvent(3, { seq: 4 }), 'import: event 3: seq must be 3, got 4'],
    ['no type', withEvent(3, { type: 1 }), 'import: event 3: type must be a string, got 1'],
    ['a new type', withEvent(3, { type: 'x' }), 'import: event 3 (x) has the unknown type "x"'],
    ['no date', withEvent(3, { at: 'x' }), 'import: event 3 (step): at must be a date, got "x"'],
    ['no data', withEvent(3, { data: 1 }), 'import: event 3 (step): data must be an object, got 1'],
    [
      'a separator in a name',
      withData(3, { name: 'a\x1eb' }),
      'import: event 3 (step): name must be a string without control characters',
    ],
    [
      'a command in the wrong place',
      withData(3, { command: 7 }),
      'import: event 3 (step): command must be 2, got 7',
    ],
    [
      'a result of nothing',
      withData(12, { command: 99 }),
      'import: event 12 (completed): command must be that of an earlier event, got 99',
    ],
    [
      'a place',
      withData(2, { where: 'moon' }),
      'history: an activity runs at unknown place "moon"',
    ],
    [
      'a second start',
      { ...good(), events: repeatFirst(good()) },
      'import: event 2 (started): the first event, and no other, must be "started"',
    ],
    [
      'another workflow',
      { ...good(), workflow: 'v' },
      'import: event 1 (started) is for workflow "w" 1.0.0, but the history is for "v" 1.0.0',
    ],
    [
      'time that runs back',
      withEvent(3, { at: new Date(1) }),
      'import: event 3 (step): at is earlier than that of the previous event',
    ],
  ])('%s', (_, exported, message) => {
    expect(() => readExported(exported, values)).toThrow(message)
  })

  test('an end that is not the last event', () => {
    const exported = exportHistory('i', [turn(ALL)], values, undefined)
    const [first, ...rest] = exported.events
    const ended = { ...exported.events.at(-1)!, seq: 2 }
    const events = [first!, ended, ...rest.map((event, i) => ({ ...event, seq: i + 3 }))]

    expect(() => readExported({ ...exported, events }, values)).toThrow(
      'import: event 2 (ended) must be the last event',
    )
  })
})

function repeatFirst(exported: Record<string, unknown>): unknown[] {
  const [first] = exported['events'] as object[]
  return [first, { ...first, seq: 2 }]
}
