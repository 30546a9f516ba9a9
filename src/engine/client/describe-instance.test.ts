import { describe, expect, test } from 'vitest'

import { values } from '../../../test/support/executions.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { Whereabouts } from '../../store/whereabouts.ts'
import { describeInstance, type InstanceObservation } from './describe-instance.ts'

const row = (more: Partial<InstanceRow> = {}): InstanceRow => ({
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
  parent: null,
  labels: '{}',
  progress: null,
  progressVersion: 0,
  mail: 0,
  ...more,
})

const whereabouts: Whereabouts = { owner: null, tasks: [], runtimes: [], limit: null }
const observation: InstanceObservation = { values, now: 5_000, place: 'has code', whereabouts }

describe('info', () => {
  test('a running instance has no end and no error', () => {
    expect(describeInstance(row(), { history: [], inbox: [] }, observation)).toEqual({
      id: 'o-1',
      workflow: 'order',
      version: '1.2.0',
      status: 'running',
      progress: undefined,
      progressVersion: 0,
      execution: 1,
      labels: {},
      createdAt: new Date(1_000),
      updatedAt: new Date(2_000),
      waitingFor: [],
    })
  })

  test('it has the labels, the parent and the progress of the instance', () => {
    const parent = { iid: 9, id: 'p', execution: 1, command: 2, onClose: 'cancel' } as const
    const progress = values.encode({ done: 3n }, 'progress')

    expect(
      describeInstance(
        row({ parent, progress, labels: '{"team":"a"}', execution: 4 }),
        undefined,
        observation,
      ),
    ).toMatchObject({
      parentId: 'p',
      progress: { done: 3n },
      labels: { team: 'a' },
      execution: 4,
    })
  })

  test.each(['failed', 'cancelled', 'terminated'] as const)('one that %s says why', (status) => {
    const output = values.encodeError(new RangeError('why'))

    expect(
      describeInstance(row({ status, output, finishedAt: 3_000 }), undefined, observation),
    ).toMatchObject({
      status,
      finishedAt: new Date(3_000),
      error: { name: 'RangeError', message: 'why' },
    })
  })

  test('a suspended instance has its reason', () => {
    const report = values.encodeError(new RangeError('why'))

    expect(
      describeInstance(row({ status: 'suspended', report }), undefined, observation),
    ).toMatchObject({ status: 'suspended', error: { name: 'RangeError', message: 'why' } })
  })

  test('a result is not an error', () => {
    const done = row({ status: 'completed', output: '1', finishedAt: 3_000 })

    const info = describeInstance(done, undefined, observation)

    expect(info).not.toHaveProperty('error')
    expect(info.output).toBe(1)
  })

  test('an instance with a delayed start says when it starts', () => {
    const later = row({ status: 'scheduled', wakeAt: 86_400_000 })

    expect(describeInstance(later, { history: [], inbox: [] }, observation).waitingFor).toEqual([
      'its start at 1970-01-02T00:00:00.000Z',
    ])
  })

  test('an instance whose history or inbox cannot be read is still described', () => {
    const turn = { execution: 1, turn: 1, at: 0, first: 1, count: 1, events: 'nonsense' }
    const cancel = {
      id: 1,
      kind: 'cancel',
      execution: 0,
      command: 0,
      name: '',
      replyTo: '',
      payload: '"half',
      parked: false,
    } as const

    const histories = describeInstance(row(), { history: [turn], inbox: [] }, observation)
    const inboxes = describeInstance(row(), { history: [], inbox: [cancel] }, observation)

    expect(histories).toMatchObject({
      status: 'running',
      waitingFor: [
        'a runtime that can read it (history: unknown event "nonsense"; was it written by a newer version?)',
      ],
    })
    expect(inboxes.waitingFor).toEqual([expect.stringMatching(/^a runtime that can read it \(/)])
  })

  test('a due instance whose code is missing says so', () => {
    const here: InstanceObservation = { ...observation, place: 'lacks code' }
    const missing = [
      'a runtime that registers workflow "order" 1.2.0 (no live runtime does, including this one)',
    ]
    const waits = (wakeAt: number | null, who = here): readonly string[] =>
      describeInstance(row({ wakeAt }), { history: [], inbox: [] }, who).waitingFor

    expect(waits(5_000)).toEqual(missing)
    // Not due yet, owned by a runtime that has the code, or in a process that has it.
    expect(waits(5_001)).toEqual([])
    expect(waits(null)).toEqual([])
    expect(waits(5_000, observation)).toEqual([])
    // A client runs nothing: it is no news that it lacks the code.
    const client: InstanceObservation = { ...observation, place: 'runs nothing' }
    expect(waits(5_000, client)).toEqual([
      'a runtime that registers workflow "order" 1.2.0 (no live runtime does)',
    ])
    const there = { runtime: 7, info: 'there 1 0.1.0', serves: null, activities: [] }
    const served = { ...whereabouts, runtimes: [{ ...there, registers: true }] }
    expect(waits(5_000, { ...client, whereabouts: served })).toEqual([
      'a runtime that registers workflow "order" 1.2.0 to take it up',
    ])
  })
})
