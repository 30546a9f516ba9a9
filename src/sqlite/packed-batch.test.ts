import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CommitBatch } from '../store/workflow-store.ts'
import { packBatch, unpackBatch } from './packed-batch.ts'

const whole = fc.nat({ max: 2 ** 45 })
const row = fc.record({
  execution: fc.integer({ min: 1, max: 9 }),
  turn: whole,
  at: whole,
  first: whole,
  count: whole,
  events: fc.string(),
})
const end = fc.record({
  status: fc.constantFrom('completed', 'failed', 'cancelled', 'terminated'),
  output: fc.string(),
})
const wakeAt = fc.option(whole)
const batch = fc.record({
  runtime: whole,
  server: fc.string(),
  starts: fc.array(
    fc.record({
      iid: whole,
      id: fc.string(),
      workflow: whole,
      owned: fc.boolean(),
      wakeAt,
      turn: row,
      end: fc.option(end),
    }),
  ),
  turns: fc.array(
    fc.record({
      iid: whole,
      epoch: whole,
      turn: fc.option(row),
      taken: fc.array(whole),
      next: fc.oneof(
        fc.constant({ kind: 'keep' as const }),
        fc.record({ kind: fc.constant('release' as const), wakeAt }),
        fc.record({ kind: fc.constant('hold' as const), report: fc.string() }),
        fc.record({ kind: fc.constant('end' as const), end }),
      ),
    }),
  ),
}) as fc.Arbitrary<CommitBatch>

test('a batch crosses to the thread and comes out as it went in', () => {
  fc.assert(
    fc.property(batch, (given) => {
      const crossed = unpackBatch(structuredClone(packBatch(given)))

      expect(crossed).toEqual(given)
    }),
  )
})
