import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { encode } from '../base/codec/codec.ts'
import { type Event, readEvents, writeEvents } from './history.ts'

const number = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text))
const value = fc.anything().map((any) => {
  try {
    return encode(any)
  } catch {
    return 'null'
  }
})
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    type: fc.constant('started'),
    workflow: name,
    version: name,
    input: value,
    seed: name,
    parentId: fc.oneof(fc.constant(''), name),
    state: fc.oneof(fc.constant(''), value),
  }),
  fc.record({
    type: fc.constantFrom('child', 'start'),
    command: number,
    workflow: name,
    version: name,
    id: name,
    input: value,
    options: value,
  }),
  fc.record({ type: fc.constant('receive'), command: number, name, until: fc.nat() }),
  fc.record({
    type: fc.constant('send'),
    command: number,
    id: name,
    name,
    capacity: number,
    value,
  }),
  fc.record({ type: fc.constant('read'), command: number, id: name, key: name }),
  fc
    .record({ type: fc.constant('received'), command: number, value, replyTo: fc.string() })
    .map((received) => ({ ...received, replyTo: received.replyTo.replaceAll(/\p{Cc}/gu, '') })),
  fc.record({ type: fc.constant('cancelled'), reason: value }),
  fc.record({ type: fc.constant('dropped'), command: number }),
  fc.record({ type: fc.constant('set'), key: name, value }),
  fc.record({ type: fc.constant('unset'), key: name }),
  fc.record({ type: fc.constant('cleared') }),
  fc.record({ type: fc.constant('progress'), value }),
  fc.record({ type: fc.constant('replied'), to: name, ok: fc.boolean(), value }),
  fc.record({ type: fc.constant('patched'), change: name }),
  fc.record({ type: fc.constant('forked') }),
  fc.record({
    type: fc.constant('activity'),
    command: number,
    name,
    where: fc.constantFrom('local', 'task'),
    tag: fc.oneof(fc.constant(''), name),
    session: fc.oneof(fc.constant(''), name),
    input: value,
  }),
  fc.record({ type: fc.constant('step'), command: number, name }),
  fc.record({ type: fc.constant('timer'), command: number, fireAt: number }),
  fc.record({
    type: fc.constant('attempt'),
    command: number,
    attempt: number,
    retryAt: number,
    error: value,
  }),
  fc.record({ type: fc.constant('completed'), command: number, value }),
  fc.record({ type: fc.constant('failed'), command: number, error: value }),
  fc.record({ type: fc.constant('fired'), command: number }),
  fc.record({
    type: fc.constant('ended'),
    status: fc.constantFrom('completed', 'failed', 'cancelled', 'terminated', 'continued'),
  }),
)

describe('history', () => {
  test('events come back as they were written', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 20 }), (events) => {
        expect(readEvents(writeEvents(events))).toEqual(events)
      }),
    )
  })

  test('one text is written for the same events', () => {
    expect(
      writeEvents([
        {
          type: 'started',
          workflow: 'order',
          version: '1.0.0',
          input: '"a"',
          seed: '0f',
          parentId: 'p',
          state: '',
        },
        {
          type: 'activity',
          command: 1,
          name: 'charge',
          where: 'local',
          tag: '',
          session: '',
          input: '{"n":1}',
        },
        { type: 'completed', command: 1, value: 'null' },
        { type: 'ended', status: 'completed' },
      ])
        .replaceAll('\x1e', '\n')
        .replaceAll('\x1f', '|'),
    ).toBe(
      'started|order|1.0.0|"a"|0f|p|\nactivity|1|charge|local|{"n":1}\ncompleted|1|null\nended|completed',
    )
  })

  test.each([
    ['', 'unknown event ""'],
    ['nonsense', 'unknown event "nonsense"; was it written by a newer version?'],
    ['started\x1forder', 'event "started" lacks field 2'],
    ['fired', 'event "fired" lacks field 1'],
    ['fired\x1fone', 'field 1 of event "fired" is not a whole number: one'],
    ['timer\x1f1\x1f1.5', 'field 2 of event "timer" is not a whole number: 1.5'],
    ['timer\x1f1\x1f1e+300', 'field 2 of event "timer" is not a whole number'],
    ['fired\x1f0x10', 'field 1 of event "fired" is not a whole number'],
    ['fired\x1f', 'field 1 of event "fired" is not a whole number'],
    ['activity\x1f1\x1fa\x1fmoon\x1fnull', 'an activity runs at unknown place "moon"'],
    ['ended\x1fhappily', 'unknown ending "happily"'],
    ['fired\x1f1\x1e', 'unknown event ""'],
  ])('text such as %j is refused', (text, message) => {
    expect(() => readEvents(text)).toThrow(`history: ${message}`)
  })
})
