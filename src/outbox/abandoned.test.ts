import { expect, test } from 'vitest'
import { resolveBackoff } from '../base/time/backoff.ts'
import { leaveLastAttempt } from './abandoned.ts'
import type { ReadPartition, RetryPolicy } from './settlement.ts'

const POLICY: RetryPolicy = {
  maxAttempts: 3,
  whenStuck: 'park',
  backoff: resolveBackoff('test', {}),
  random: () => 0,
}

/** A partition whose owner died with so many messages. */
function claimed(abandoned: number, failures: readonly (readonly [number, number])[]) {
  const read: ReadPartition = {
    state: 'ok',
    epoch: 2,
    cursor: 4,
    done: [6],
    failures: new Map(failures),
    later: new Map([[8, 70]]),
    abandoned,
    messages: [],
    due: [],
    waitingKeys: [],
    isBlocked: false,
    dueAt: 50,
    isReleased: false,
  }
  return read
}

test('those that died together have one attempt left, and all else stays as it is', () => {
  const read = claimed(3, [
    [5, 1],
    [7, 3],
    [8, 4],
  ])

  expect(leaveLastAttempt(read, POLICY)).toEqual({
    cursor: 4,
    to: 4,
    passed: 0,
    done: [6],
    failures: new Map([
      [5, 1],
      [7, 2],
      [8, 2],
    ]),
    later: new Map([[8, 70]]),
    dueAt: 50,
    dead: [],
    deferred: [],
    waiting: [],
  })
})

test.each([
  ['one that died alone', claimed(1, [[5, 3]]), POLICY],
  ['those with attempts left', claimed(2, [[5, 2]]), POLICY],
  ['those that are tried forever', claimed(2, [[5, 3]]), { ...POLICY, whenStuck: 'block' }],
  ['those without a limit', claimed(2, [[5, 3]]), { ...POLICY, maxAttempts: Infinity }],
] as const)('nothing is written about %s', (_, read, policy) => {
  expect(leaveLastAttempt(read, policy)).toBeNull()
})
