import { expect, test } from 'vitest'

import { asOf } from './as-of.ts'
import { spanAsOf, spansOf, type TimelineEvent } from './spans.ts'

const event = (
  seq: number,
  type: string,
  at: number,
  data: TimelineEvent['data'] = {},
): TimelineEvent => ({
  seq,
  type,
  at,
  data,
})

const HISTORY = [
  event(1, 'started', 0, { state: { total: { value: 3, at: '1970-01-01T00:00:00.000Z' } } }),
  event(2, 'activity', 0, { command: 1, name: 'charge' }),
  event(3, 'timer', 0, { command: 2, fireAt: { $: 'date', v: '1970-01-01T00:00:09.000Z' } }),
  event(4, 'attempt', 100, {
    command: 1,
    attempt: 1,
    retryAt: '1970-01-01T00:00:01.100Z',
    error: {},
  }),
  event(5, 'completed', 2000, { command: 1, value: 'paid' }),
  event(6, 'set', 2000, { key: 'paid', value: true }),
  event(7, 'progress', 2000, { value: 'half' }),
  event(8, 'dropped', 2000, { command: 2 }),
  event(9, 'completed', 2100, { command: 2, value: 'late' }),
  event(10, 'unset', 2100, { key: 'total' }),
  event(11, 'ended', 2100, { status: 'completed' }),
]

test('a span lasts from its command to the first event that settles it', () => {
  const [charge, timer] = spansOf(HISTORY)

  expect(charge).toMatchObject({ kind: 'activity', name: 'charge', from: 0, to: 2000 })
  expect(charge!.attempts).toEqual([{ seq: 4, attempt: 1, at: 100, retryAt: 1100, error: {} }])
  expect(timer).toMatchObject({ outcome: 'dropped', to: 2000, lastSeq: 8, dueAt: 9000 })
})

test('a span as of an earlier event is open, with the attempts so far', () => {
  const [charge, timer] = spansOf(HISTORY)

  expect(spanAsOf(timer!, 2)).toBeUndefined()
  expect(spanAsOf(charge!, 3)).toMatchObject({ outcome: 'open', to: undefined, attempts: [] })
  expect(spanAsOf(charge!, 4)!.attempts).toHaveLength(1)
  expect(spanAsOf(charge!, 5)).toBe(charge)
})

test('an instance as of an event has the state, the progress and the waits of that moment', () => {
  const spans = spansOf(HISTORY)

  const early = asOf(HISTORY, spans, 4)!
  const later = asOf(HISTORY, spans, 10)!
  const end = asOf(HISTORY, spans, 11)!

  expect(early.waits.map((span) => span.command)).toEqual([1, 2])
  expect([...early.state.keys()]).toEqual(['total'])
  expect(early.progress).toBeUndefined()
  expect(early.failures).toBe(1)
  expect([...later.state.keys()]).toEqual(['paid'])
  expect(later.progress).toEqual({ value: 'half', seq: 7 })
  expect(later.waits).toEqual([])
  expect(end.ended).toBe('completed')
})

test('there is nothing as of an event before the first', () => {
  expect(asOf(HISTORY, spansOf(HISTORY), 0)).toBeUndefined()
})
