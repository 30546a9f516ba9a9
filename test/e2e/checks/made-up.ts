// Histories and instances for trying the checks on: they are only worth something if they find what
// they look for.

import type { TurnRow } from '../../../src/store/commits.ts'
import { type Event, writeEvents } from '../../../src/store/history.ts'
import type { InstanceRow } from '../../../src/store/instances.ts'
import { STARTED } from '../../support/executions.ts'
import type { RecordedInstance } from '../recorded-instance.ts'

export const BEGIN: Event = { ...STARTED, workflow: 'w' }
export const END: Event = { type: 'ended', status: 'completed' }
export const ONE = {
  type: 'activity',
  command: 1,
  name: 'quick',
  where: 'local',
  tag: '',
  session: '',
  input: '1',
} as const satisfies Event
export const TWO = { ...ONE, command: 2 } as const satisfies Event
export const ONE_DONE: Event = { type: 'completed', command: 1, value: '10' }
export const TWO_DONE: Event = { type: 'completed', command: 2, value: '20' }
export const GOOD = turns([BEGIN, ONE], [ONE_DONE, TWO], [TWO_DONE, END])

/** An instance that did nothing, by default. */
export function life(id: string, row: Partial<InstanceRow> = {}): RecordedInstance {
  const whole: InstanceRow = {
    iid: 1,
    id,
    workflow: { name: 'w', version: '1.0.0' },
    execution: 1,
    status: 'completed',
    wakeAt: null,
    createdAt: 0,
    updatedAt: 0,
    finishedAt: 1,
    output: null,
    report: null,
    parent: null,
    labels: '{}',
    progress: null,
    progressVersion: 0,
    mail: 0,
  }
  return { row: { ...whole, ...row }, turns: turns([BEGIN, END]) }
}

/** The turns of one execution, by their events. */
export function turns(...all: readonly Event[][]): TurnRow[] {
  let first = 1
  return all.map((events, i) => {
    const row = { execution: 1, turn: i + 1, at: i, first, count: events.length }
    first += events.length
    return { ...row, events: writeEvents(events) }
  })
}
