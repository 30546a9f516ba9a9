/* oxlint-disable unicorn/consistent-function-scoping -- the code of a test's workflows stands in it */
import { describe, expect, test } from 'vitest'

import { completed, failed, fired, STARTED, values } from '../../../test/support/executions.ts'
import { type Event, writeEvents } from '../../store/history.ts'
import type { InstanceRow, TurnRow } from '../../store/workflow-store.ts'
import { describeInstance, waitingFor } from './describe-instance.ts'

const turn = (...events: Event[]): TurnRow => ({
  execution: 1,
  turn: 1,
  at: 1,
  first: 1,
  count: events.length,
  events: writeEvents(events),
})

const row = (more: Partial<InstanceRow>): InstanceRow => ({
  iid: 1,
  id: 'o-1',
  workflow: { name: 'order', version: '1.2.0' },
  execution: 1,
  status: 'running',
  wakeAt: null,
  createdAt: 1_000,
  updatedAt: 2_000,
  finishedAt: null,
  output: null,
  report: null,
  ...more,
})

describe('what an instance waits for', () => {
  test('is what was asked for and not answered, over all turns', () => {
    const attempt = (count: number): Event => ({
      type: 'attempt',
      command: 3,
      attempt: count,
      retryAt: 0,
      error: 'null',
    })

    expect(
      waitingFor([
        turn(
          STARTED,
          { type: 'activity', command: 1, name: 'a', input: '1', where: 'local' },
          { type: 'step', command: 2, name: 'b' },
          { type: 'step', command: 3, name: 'c (d)' },
          { type: 'timer', command: 4, fireAt: 0 },
          { type: 'timer', command: 5, fireAt: 86_400_000 },
        ),
        turn(completed(1), attempt(1)),
        turn(failed(2, new Error('x')), fired(4), attempt(2)),
      ]),
    ).toEqual([
      'step "c (d)" (attempt 2 failed, next at 1970-01-01T00:00:00.000Z)',
      'timer until 1970-01-02T00:00:00.000Z',
    ])
  })
})

describe('info', () => {
  test('a running instance has no end and no error', () => {
    expect(describeInstance(row({}), [turn(STARTED)], values)).toEqual({
      id: 'o-1',
      workflow: 'order',
      version: '1.2.0',
      status: 'running',
      execution: 1,
      createdAt: new Date(1_000),
      updatedAt: new Date(2_000),
      waitingFor: [],
    })
  })

  test('one that failed or was set aside says why', () => {
    const why = values.encodeError(new RangeError('why'))

    expect(
      describeInstance(row({ status: 'failed', output: why, finishedAt: 3_000 }), [], values),
    ).toMatchObject({
      finishedAt: new Date(3_000),
      error: { name: 'RangeError', message: 'why' },
    })
    expect(describeInstance(row({ status: 'suspended', report: why }), [], values)).toMatchObject({
      status: 'suspended',
      error: { name: 'RangeError', message: 'why' },
    })
  })
})
