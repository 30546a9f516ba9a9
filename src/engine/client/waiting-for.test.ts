import { expect, test } from 'vitest'

import { completed, failed, fired, values } from '../../../test/support/executions.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import type { InboxRow } from '../../store/inbox.ts'
import type { Observation } from './describe-activity.ts'
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

const owner = { runtime: 7, info: 'host 12 0.1.0' }
const observation: Observation = {
  values,
  now: 1_000,
  whereabouts: { owner, tasks: [], runtimes: [], limit: null },
}

const waits = (...history: TurnRow[]): readonly string[] =>
  waitingFor({ history, inbox: [] }, observation)

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
  retryAt: 500,
  error: values.encodeError(new RangeError('no')),
})

test('it lists commands without a result, over all turns', () => {
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
    'step "c (d)": attempt 3, running since 1970-01-01T00:00:00.500Z on host (pid 12, runtime 7); attempt 2 failed with RangeError: no',
    'timer until 1970-01-02T00:00:00.000Z',
  ])
})

test('messages, children, starts, sends and reads are distinguished', () => {
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

test('a command that was received or cancelled is not listed', () => {
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

  expect(waitingFor({ history: [sleeping], inbox: [cancel] }, observation)).toEqual([
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
  ).toEqual([
    'the end of its clean-up (cancelled: too late)',
    'step "undo": attempt 1, running since 1970-01-01T00:00:00.001Z on host (pid 12, runtime 7)',
  ])
})

test.each<[string, Partial<Observation>, string]>([
  ['it waits for its next attempt', { now: 400 }, 'attempt 2 at 1970-01-01T00:00:00.500Z'],
  [
    'no runtime owns the instance',
    { whereabouts: { owner: null, tasks: [], runtimes: [], limit: null } },
    'attempt 2, waiting for a runtime to take the instance over',
  ],
  [
    'this process has no slot for it',
    { attemptAt: () => ({ attempt: 3, begun: false }) },
    'attempt 3, waiting for a free slot on host (pid 12, runtime 7)',
  ],
])('a step says that %s', (_, more, words) => {
  const history = [turn(STARTED, { type: 'step', command: 3, name: 's' }, attempt(1))]

  expect(waitingFor({ history, inbox: [] }, { ...observation, ...more })).toEqual([
    `step "s": ${words}; attempt 1 failed with RangeError: no`,
  ])
})

const task = {
  command: 1,
  attempts: 2,
  owner: null,
  ownedSince: null,
  visibleAt: null,
  error: values.encodeError(new RangeError('no')),
} as const
const runtime = { ...owner, registers: false, activities: [] }
const untagged = { untagged: true, tags: [], activities: [] }

test.each<[string, Partial<Observation['whereabouts']>, string]>([
  [
    'which runtime runs it, and since when',
    { tasks: [{ ...task, owner: { runtime: 9, info: 'gpu-1 34 0.1.0' }, ownedSince: 700 }] },
    'attempt 2, running since 1970-01-01T00:00:00.700Z on gpu-1 (pid 34, runtime 9); attempt 1 failed with RangeError: no',
  ],
  [
    'when it is tried again',
    { tasks: [{ ...task, visibleAt: 2_000 }] },
    'attempt 3 at 1970-01-01T00:00:02.000Z; attempt 2 failed with RangeError: no',
  ],
  [
    'that no runtime serves its tag',
    { runtimes: [{ ...runtime, serves: untagged }] },
    'attempt 3, waiting for a runtime; no live runtime serves tag "gpu"; attempt 2 failed with RangeError: no',
  ],
  [
    'that no runtime has its code',
    { runtimes: [{ ...runtime, serves: { ...untagged, tags: ['gpu'] } }] },
    'attempt 3, waiting for a runtime; no live runtime is known to have its code; attempt 2 failed with RangeError: no',
  ],
  [
    'nothing more where a runtime may have its code',
    { runtimes: [{ ...runtime, serves: { ...untagged, tags: 'any', activities: ['a'] } }] },
    'attempt 3, waiting for a runtime; attempt 2 failed with RangeError: no',
  ],
])('a task says %s', (_, more, words) => {
  const event = { type: 'activity', command: 1, name: 'a', input: '1', where: 'task' } as const
  const history = [turn(STARTED, { ...event, tag: 'gpu', session: 's' })]
  const whereabouts = { owner: null, tasks: [task], runtimes: [], limit: null, ...more }

  expect(waitingFor({ history, inbox: [] }, { ...observation, whereabouts })).toEqual([
    `activity "a" (tag "gpu" and session "s"): ${words}`,
  ])
})
