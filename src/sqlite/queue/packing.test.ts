import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CHANGE_KINDS,
  DAMAGED,
  type Payload,
  type QueueBatch,
  type QueueRecord,
} from '../../store/queue-store.ts'
import { packBatch, unpackBatch } from './packed-batch.ts'
import { packRecords, STATES, unpackRecords } from './packed-records.ts'

const whole = fc.maxSafeNat()
const payload: fc.Arbitrary<Payload> = fc.record({
  data: fc.oneof(fc.string(), fc.uint8Array()),
  format: fc.integer({ min: DAMAGED, max: 1_000_000 }),
})

const batches: fc.Arbitrary<QueueBatch> = fc.record({
  take: whole,
  leaseMs: whole,
  maxAttempts: fc.oneof(whole, fc.constant(Infinity)),
  capacity: fc.oneof(whole, fc.constant(Infinity)),
  inOrder: fc.boolean(),
  changes: fc.array(
    fc.record({
      kind: fc.constantFrom(...CHANGE_KINDS),
      id: whole,
      receipt: whole,
      ms: whole,
      reason: fc.string(),
    }),
  ),
  pushes: fc.array(
    fc
      .record({
        payloads: fc.array(payload),
        priority: fc.integer(),
        delayMs: whole,
        ttlMs: fc.option(whole),
        key: fc.option(fc.string()),
        dedupeKey: fc.option(fc.string()),
        dedupeMs: whole,
        firstId: fc.option(whole),
      })
      // Without a key nobody asks for it.
      .map((group) => ({ ...group, dedupeMs: group.dedupeKey === null ? 0 : group.dedupeMs })),
  ),
})

const records: fc.Arbitrary<readonly QueueRecord[]> = fc.array(
  fc
    .record({
      id: whole,
      state: fc.constantFrom(...STATES),
      attempt: whole,
      receipt: whole,
      pushedAt: whole,
      reason: fc.string(),
    })
    .chain((record) => payload.map((kept) => ({ ...record, ...kept }))),
)

test('a batch arrives in the thread as it left', () => {
  fc.assert(
    fc.property(batches, (batch) => {
      expect(unpackBatch(structuredClone(packBatch(batch)))).toEqual(batch)
    }),
  )
})

test('records arrive from the thread as they left', () => {
  fc.assert(
    fc.property(records, (list) => {
      expect(unpackRecords(structuredClone(packRecords(list)))).toEqual(list)
    }),
  )
})
