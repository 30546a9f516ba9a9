import { expect, test } from 'vitest'

import { completed, failed, fired } from '../../../test/support/executions.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import type { InboxRow } from '../../store/inbox.ts'
import { waitingFor } from './waiting-for.ts'

const STARTED: Event = {
  type: 'started',
  workflow: 'test',
  version: '1.0.0',
  input: 'null',
  seed: '',
  parentId: '',
  state: '',
}

const turn = (...events: Event[]): TurnRow => ({
  execution: 1,
  turn: 1,
  at: 1,
  first: 1,
  count: events.length,
  events: writeEvents(events),
})

const waits = (...history: TurnRow[]): readonly string[] => waitingFor({ history, inbox: [] })

const cancel: InboxRow = {
  id: 1,
  kind: 'cancel',
  execution: 0,
  command: 0,
  name: '',
  replyTo: '',
  payload: '"too late"',
  parked: false,
}

const attempt = (count: number): Event => ({
  type: 'attempt',
  command: 3,
  attempt: count,
  retryAt: 0,
  error: 'null',
})

test('it is what was asked for and not answered, over all turns', () => {
  expect(
    waits(
      turn(
        STARTED,
        {
          type: 'activity',
          command: 1,
          name: 'a',
          input: '1',
          where: 'local',
          tag: '',
          session: '',
        },
        { type: 'step', command: 2, name: 'b' },
        { type: 'step', command: 3, name: 'c (d)' },
        { type: 'timer', command: 4, fireAt: 0 },
        { type: 'timer', command: 5, fireAt: 86_400_000 },
      ),
      turn(completed(1), attempt(1)),
      turn(failed(2, new Error('x')), fired(4), attempt(2)),
    ),
  ).toEqual([
    'step "c (d)" (attempt 2 failed, next at 1970-01-01T00:00:00.000Z)',
    'timer until 1970-01-02T00:00:00.000Z',
  ])
})

test('messages, children, starts, sends and reads are told apart', () => {
  const other = { workflow: 'w', version: '1.0.0', id: 'x', input: 'null', options: '{}' }

  expect(
    waits(
      turn(
        STARTED,
        { type: 'receive', command: 1, name: 'c', until: 0 },
        { type: 'receive', command: 2, name: 'd', until: 1_000 },
        { type: 'child', command: 3, ...other },
        { type: 'start', command: 4, ...other },
        { type: 'send', command: 5, id: 'x', name: 'c', capacity: 1, value: '1' },
        { type: 'read', command: 6, id: 'x', key: 'k' },
      ),
    ),
  ).toEqual([
    'message on channel "c"',
    'message on channel "d" until 1970-01-01T00:00:01.000Z',
    'child "x" of workflow "w"',
    'start of "x" of workflow "w"',
    'send to channel "c" of "x"',
    'state "k" of "x"',
  ])
})

test('what was received or called off is not waited for', () => {
  expect(
    waits(
      turn(
        STARTED,
        { type: 'receive', command: 1, name: 'c', until: 0 },
        { type: 'step', command: 2, name: 's' },
      ),
      turn(
        { type: 'received', command: 1, value: '1', replyTo: '' },
        { type: 'dropped', command: 2 },
        { type: 'progress', value: '1' },
      ),
    ),
  ).toEqual([])
})

test('a cancellation is named before and after the code has seen it', () => {
  const sleeping = turn(STARTED, { type: 'timer', command: 1, fireAt: 0 })

  expect(waitingFor({ history: [sleeping], inbox: [cancel] })).toEqual([
    'its cancellation (cancelled: too late)',
    'timer until 1970-01-01T00:00:00.000Z',
  ])
  expect(
    waits(
      sleeping,
      turn(
        { type: 'cancelled', reason: '"too late"' },
        { type: 'dropped', command: 1 },
        { type: 'step', command: 2, name: 'undo' },
      ),
    ),
  ).toEqual(['the end of its clean-up (cancelled: too late)', 'step "undo"'])
})
