import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  CHANGE_KINDS,
  CHANGE_VERDICTS,
  DAMAGED,
  type Payload,
  PUSH_STATES,
  type QueueRecord,
} from '../../store/queue-store.ts'
import { type Answer, packAnswer, unpackAnswer } from './packed-answer.ts'
import { packBatch, type PackedPart, unpackBatch } from './packed-batch.ts'
import { packRecords, STATES, unpackRecords } from './packed-records.ts'

const whole = fc.maxSafeNat()
const payload: fc.Arbitrary<Payload> = fc.record({
  data: fc.oneof(fc.string(), fc.uint8Array()),
  format: fc.integer({ min: DAMAGED, max: 1_000_000 }),
})

const batches: fc.Arbitrary<PackedPart> = fc.record({
  takes: fc.array(fc.record({ max: whole, isPrefetched: fc.boolean() })),
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
      })
      // Without a key it is never read.
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

const counts = fc.record({ ready: whole, inFlight: whole, delayed: whole, dead: whole })
const answers: fc.Arbitrary<Answer> = fc.record({
  queueState: fc.record({
    now: whole,
    counts,
    nextDueAt: fc.option(whole),
    shared: fc.boolean(),
    events: fc.record({ expired: whole, lapsed: whole, dead: whole }),
  }),
  mustEmptyWal: fc.boolean(),
  changes: fc.array(fc.constantFrom(...CHANGE_VERDICTS)),
  pushes: fc.array(
    fc.record({
      state: fc.constantFrom(...PUSH_STATES),
      firstId: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
      count: whole,
    }),
  ),
  taken: records,
})

test('an answer arrives from the thread as it left', () => {
  fc.assert(
    fc.property(answers, (answer) => {
      expect(unpackAnswer(structuredClone(packAnswer(answer)))).toEqual(answer)
    }),
  )
})
