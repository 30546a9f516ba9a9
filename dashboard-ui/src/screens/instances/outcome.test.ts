import { expect, test } from 'vitest'

import type { BulkJob } from '../../../../src/dashboard/api.ts'
import { outcomeOf } from './outcome.ts'

const JOB: BulkJob = {
  job: 'j',
  verb: 'suspend',
  state: 'done',
  startedAt: '2026-11-18T05:12:44.000Z',
  seen: 1,
  changed: 1,
  refused: [],
}

test('an outcome says what was done, to how many, and why not to more', () => {
  expect(outcomeOf(JOB)).toBe('Suspended 1 instance')
  expect(outcomeOf({ ...JOB, verb: 'delete', changed: 2 })).toBe(
    'Deleted 2 instances, children included',
  )
  expect(outcomeOf({ ...JOB, verb: 'terminate', state: 'stopped', changed: 50 })).toBe(
    'Terminated 50 instances, then stopped',
  )
  expect(outcomeOf({ ...JOB, state: 'failed', changed: 0, error: 'no store' })).toBe(
    'Suspended 0 instances, then failed: no store',
  )
  expect(outcomeOf({ ...JOB, changed: 0, refused: [{ id: 'a', message: 'it has ended' }] })).toBe(
    'Suspended 0 instances; it has ended',
  )
})
