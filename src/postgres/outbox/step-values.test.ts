import { expect, test } from 'vitest'
import type { Settlement, Step } from '../../store/outbox-store.ts'
import { stepsValue, storable } from './step-values.ts'

const claim: Step = { partition: 7, epoch: null, settle: null, read: 5, release: 'when-empty' }

const settlement: Settlement = {
  cursor: 3,
  to: 9,
  passed: 2,
  done: [12],
  failures: new Map([
    [11, 1],
    [13, 4],
  ]),
  later: new Map([[13, 2_000]]),
  dueAt: 1_000,
  dead: [{ position: 5, seq: 1, reason: 'bad\0', failures: 2 }],
  deferred: [{ position: 6, seq: 2, failures: 1, dueAt: 50 }],
  waiting: [{ position: 2, retry: null }],
}

test('a settlement is written as the procedure reads it', () => {
  const step: Step = { ...claim, epoch: 4, settle: settlement }

  expect(JSON.parse(stepsValue([claim, step]))).toEqual([
    claim,
    {
      ...step,
      settle: {
        cursor: 3,
        to: 9,
        passed: 2,
        done: [12],
        failed: [11, 13],
        failures: [1, 4],
        later: [13],
        laterAt: [2_000],
        dueAt: 1_000,
        dead: [{ position: 5, seq: 1, reason: 'bad\uFFFD', failures: 2 }],
        deferred: [{ position: 6, seq: 2, failures: 1, due_at: 50 }],
        waiting: [{ position: 2, retry: null }],
      },
    },
  ])
})

test('what PostgreSQL cannot store is replaced, and nothing else', () => {
  expect(storable('a\0b\ud800c\udfff🙂é\n')).toBe('a\uFFFDb\uFFFDc\uFFFD🙂é\n')
})
