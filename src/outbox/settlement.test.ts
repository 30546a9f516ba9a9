import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NO_BACKOFF } from '../base/time/backoff.ts'
import type { StoredMessage } from '../store/outbox-store.ts'
import { DONE, EXPIRED, type Outcome, UNTRIED } from './outcome.ts'
import { type ReadPartition, type RetryPolicy, settle } from './settlement.ts'
import { PartitionModel } from '../../test/support/partition-model.ts'

const NOW = 1_000

const policy = (more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  maxAttempts: 3,
  whenStuck: 'park',
  backoff: { initialMs: 100, maxMs: 1_000, multiplier: 2, jitter: 0 },
  random: () => 0.5,
  ...more,
})

const retry = (afterMs?: number): Outcome => ({
  kind: 'retry',
  afterMs,
  error: new Error('failed'),
})

const reject: Outcome = { kind: 'reject', reason: 'bad' }

function stored(position: number, more: Partial<StoredMessage> = {}): StoredMessage {
  return {
    position,
    id: position,
    seq: position / 10,
    key: null,
    payload: 'null',
    headers: null,
    enqueuedAt: 0,
    expiresAt: null,
    failures: 0,
    ...more,
  }
}

/** A partition of which the messages at 10, 20, … were read. */
function read(count: number, more: Partial<ReadPartition> = {}): ReadPartition {
  return {
    state: 'ok',
    epoch: 1,
    cursor: 0,
    done: [],
    failures: new Map(),
    later: new Map(),
    abandoned: 0,
    messages: Array.from({ length: count }, (_, i) => stored((i + 1) * 10)),
    due: [],
    waitingKeys: [],
    isBlocked: false,
    dueAt: null,
    isReleased: false,
    ...more,
  }
}

const outcomes = (...list: readonly Outcome[]): Map<number, Outcome> =>
  new Map(list.map((outcome, i) => [(i + 1) * 10, outcome]))

describe('the cursor', () => {
  test('passes all messages that are done', () => {
    const { settlement, delivered } = settle(read(3), outcomes(DONE, DONE, DONE), policy(), NOW)

    expect(settlement).toMatchObject({ cursor: 0, to: 30, passed: 3, done: [], dueAt: null })
    expect(delivered).toBe(3)
  })

  test('stops before a message that is tried again; those behind it are remembered as done', () => {
    const { settlement, delivered, retries } = settle(
      read(4),
      outcomes(DONE, retry(), DONE, DONE),
      policy(),
      NOW,
    )

    expect(settlement).toMatchObject({ to: 10, passed: 1, done: [30, 40], dueAt: NOW + 100 })
    expect([...settlement.failures]).toEqual([[20, 1]])
    expect([delivered, retries.length]).toEqual([3, 1])
  })

  test('stays where it is when the first message fails', () => {
    const { settlement } = settle(read(2), outcomes(retry()), policy(), NOW)

    expect(settlement).toMatchObject({ to: 0, passed: 0, done: [], dueAt: NOW + 100 })
  })

  test('passes what was done before, once the message in between is done', () => {
    const before = read(1, { cursor: 10, done: [30, 40], messages: [stored(20, { failures: 1 })] })

    const { settlement } = settle(before, new Map([[20, DONE]]), policy(), NOW)

    // What is done beyond what was read stays as it is, and is passed by the next settlement.
    expect(settlement).toMatchObject({ cursor: 10, to: 20, passed: 1, done: [30, 40] })
  })

  test('passes done messages between those that were read', () => {
    const messages = [stored(20, { failures: 1 }), stored(50)]
    const before = read(0, { cursor: 10, done: [30, 40], messages })

    const { settlement } = settle(
      before,
      new Map([
        [20, DONE],
        [50, DONE],
      ]),
      policy(),
      NOW,
    )

    expect(settlement).toMatchObject({ to: 50, passed: 4, done: [] })
  })

  test('passes what has expired', () => {
    const { settlement, expired, delivered } = settle(
      read(2),
      outcomes(EXPIRED, DONE),
      policy(),
      NOW,
    )

    expect(settlement).toMatchObject({ to: 20, passed: 2, dead: [] })
    expect([expired, delivered]).toEqual([1, 1])
  })
})

describe('a message that fails', () => {
  test('waits longer each time', () => {
    const delays = [0, 1].map((failures) => {
      const { retries } = settle(
        read(0, { messages: [stored(10, { failures })] }),
        outcomes(retry()),
        policy(),
        NOW,
      )
      return [retries[0]!.failures, retries[0]!.delayMs]
    })

    expect(delays).toEqual([
      [1, 100],
      [2, 200],
    ])
  })

  test('waits as long as its handler asked for', () => {
    const { settlement } = settle(read(1), outcomes(retry(7)), policy(), NOW)

    expect(settlement.dueAt).toBe(NOW + 7)
  })

  test('becomes a dead letter after its last attempt, and the others go on', () => {
    const messages = [stored(10, { failures: 2 }), stored(20)]
    const failures = new Map([[10, 2]])

    const { settlement, dead } = settle(
      read(0, { messages, failures }),
      outcomes(retry(), DONE),
      policy(),
      NOW,
    )

    expect(settlement).toMatchObject({ to: 20, passed: 2, dueAt: null })
    expect(settlement.failures.size).toBe(0)
    expect(dead).toEqual([{ position: 10, seq: 1, reason: 'Error: failed', failures: 3 }])
  })

  test('does not become one because of a batch that failed: its last attempt is for itself', () => {
    const messages = [stored(10, { failures: 2 }), stored(20, { failures: 2 })]
    const shared: Outcome = { ...retry(), isShared: true } as Outcome

    const { settlement } = settle(read(0, { messages }), outcomes(shared, shared), policy(), NOW)

    expect(settlement).toMatchObject({ to: 0, dead: [] })
    expect([...settlement.failures]).toEqual([
      [10, 2],
      [20, 2],
    ])
  })

  test('never becomes one with block', () => {
    const messages = [stored(10, { failures: 99 })]

    const { settlement } = settle(
      read(0, { messages }),
      outcomes(retry()),
      policy({ whenStuck: 'block' }),
      NOW,
    )

    expect(settlement).toMatchObject({ to: 0, dead: [], dueAt: NOW + 1_000 })
    expect([...settlement.failures]).toEqual([[10, 100]])
  })

  test('is counted although it was not tried since', () => {
    const messages = [stored(10, { failures: 1 }), stored(20, { failures: 2 })]
    const failures = new Map([
      [10, 1],
      [20, 2],
    ])

    const { settlement } = settle(
      read(0, { messages, failures }),
      outcomes(retry(), UNTRIED),
      policy(),
      NOW,
    )

    expect([...settlement.failures]).toEqual([
      [10, 2],
      [20, 2],
    ])
  })

  describe('behind another one', () => {
    test('keeps a later time of its own, and is not tried before those in front of it', () => {
      const { settlement, retries } = settle(
        read(4),
        outcomes(retry(5), retry(100), retry(50), retry(200)),
        policy(),
        NOW,
      )

      expect(settlement).toMatchObject({ to: 0, dueAt: NOW + 5 })
      expect([...settlement.later]).toEqual([
        [20, NOW + 100],
        [40, NOW + 200],
      ])
      expect(retries.map(({ delayMs }) => delayMs)).toEqual([5, 100, 100, 200])
    })

    test('is tried with it if it failed as often, however the backoff is drawn', () => {
      let drawn = 0
      const { settlement } = settle(
        read(3),
        outcomes(retry(), retry(), retry()),
        policy({
          backoff: { initialMs: 100, maxMs: 1_000, multiplier: 2, jitter: 0.5 },
          random: () => (drawn += 0.2),
        }),
        NOW,
      )

      expect(settlement.later.size).toBe(0)
    })

    test('waits for its own backoff if it failed more often', () => {
      const messages = [stored(10), stored(20, { failures: 1 })]

      const { settlement } = settle(
        read(0, { messages }),
        outcomes(retry(5), retry()),
        policy(),
        NOW,
      )

      expect([...settlement.later]).toEqual([[20, NOW + 200]])
    })

    test('keeps its time while others are handled, until it was tried', () => {
      const later = new Map([
        [20, NOW + 1],
        [30, NOW + 2],
      ])

      const first = settle(read(1, { later }), outcomes(DONE), policy(), NOW)
      const second = settle(
        read(0, { cursor: 10, messages: [stored(20)], later }),
        new Map([[20, DONE]]),
        policy(),
        NOW + 1,
      )

      expect([...first.settlement.later]).toEqual([...later])
      expect([...second.settlement.later]).toEqual([[30, NOW + 2]])
    })

    test('has no time of its own with skip: messages with other keys would wait for it', () => {
      const messages = [stored(10, { key: 'a' }), stored(20, { key: 'a' })]
      const skip = policy({ whenStuck: 'skip' })

      const { settlement } = settle(read(0, { messages }), outcomes(UNTRIED, retry(50)), skip, NOW)

      expect(settlement.later.size).toBe(0)
    })
  })

  test('makes nothing wait when it was not tried at all', () => {
    const { settlement } = settle(read(2), outcomes(DONE, UNTRIED), policy(), NOW)

    expect(settlement).toMatchObject({ to: 10, passed: 1, dueAt: null })
  })
})

test('a message that was tried too often becomes a dead letter without another attempt', () => {
  const messages = [stored(10, { failures: 3 }), stored(20)]
  const exhausted: Outcome = { kind: 'exhausted', reason: 'died' }

  const { settlement } = settle(read(0, { messages }), outcomes(exhausted, DONE), policy(), NOW)

  expect(settlement).toMatchObject({ to: 20, passed: 2 })
  expect(settlement.dead).toEqual([{ position: 10, seq: 1, reason: 'died', failures: 3 }])
})

describe('a rejected message', () => {
  test('becomes a dead letter, and only that [reject_tracks_rejection_and_progress]', () => {
    const { settlement, delivered } = settle(read(3), outcomes(DONE, reject, DONE), policy(), NOW)

    expect(settlement).toMatchObject({ to: 30, passed: 3, done: [] })
    expect(settlement.dead).toEqual([{ position: 20, seq: 2, reason: 'bad', failures: 1 }])
    expect(delivered).toBe(2)
  })

  test('behind a message that is tried again is done, and dead once', () => {
    const { settlement } = settle(read(2), outcomes(retry(), reject), policy(), NOW)

    expect(settlement).toMatchObject({ to: 0, done: [20] })
    expect(settlement.dead).toHaveLength(1)
  })
})

describe('skip', () => {
  const skip = policy({ whenStuck: 'skip' })

  test('defers a failed message, and the cursor passes it', () => {
    const messages = [stored(10, { key: 'a' }), stored(20, { key: 'b' })]

    const { settlement } = settle(read(0, { messages }), outcomes(retry(), DONE), skip, NOW)

    expect(settlement).toMatchObject({ to: 20, passed: 2, dueAt: null })
    expect(settlement.deferred).toEqual([{ position: 10, seq: 1, failures: 1, dueAt: NOW + 100 }])
  })

  test('defers later messages of the same key as well', () => {
    const messages = [stored(10, { key: 'a' }), stored(20, { key: 'b' }), stored(30, { key: 'a' })]

    const { settlement } = settle(read(0, { messages }), outcomes(retry(), DONE), skip, NOW)

    expect(settlement.deferred.map(({ position, failures }) => [position, failures])).toEqual([
      [10, 1],
      [30, 0],
    ])
    expect(settlement.to).toBe(30)
  })

  test('defers messages behind a key that waited before', () => {
    const messages = [stored(10, { key: 'a' })]

    const { settlement } = settle(read(0, { messages, waitingKeys: ['a'] }), new Map(), skip, NOW)

    expect(settlement).toMatchObject({ to: 10, deferred: [{ position: 10, failures: 0 }] })
  })

  test('a failed message does not leave before one of its key that was not tried', () => {
    const messages = [stored(10, { key: 'a' }), stored(20, { key: 'a' })]

    const { settlement } = settle(read(0, { messages }), outcomes(UNTRIED, retry()), skip, NOW)

    expect(settlement).toMatchObject({ to: 0, deferred: [] })
    expect([...settlement.failures]).toEqual([[20, 1]])
  })

  test('a message without a key holds nothing back', () => {
    const { settlement } = settle(read(2), outcomes(retry(), DONE), skip, NOW)

    expect(settlement.deferred.map(({ position }) => position)).toEqual([10])
    expect(settlement.to).toBe(20)
  })

  test('a message that waited apart is done, tried again, or dead', () => {
    const due = [stored(1), stored(2, { failures: 4 }), stored(3)]
    const results = new Map<number, Outcome>([
      [1, DONE],
      [2, retry(50)],
      [3, reject],
    ])

    const { settlement } = settle(read(0, { cursor: 9, due }), results, skip, NOW)

    expect(settlement.waiting).toEqual([
      { position: 1, retry: null },
      { position: 2, retry: { failures: 5, dueAt: NOW + 50 } },
    ])
    expect(settlement.dead.map(({ position }) => position)).toEqual([3])
    expect(settlement).toMatchObject({ cursor: 9, to: 9, passed: 0 })
  })
})

test('whatever happens, each message ends once, in the order of its key, and numbers have no gaps', () => {
  const outcome = fc.oneof(
    { weight: 6, arbitrary: fc.constant<Outcome>(DONE) },
    { weight: 3, arbitrary: fc.constantFrom(retry(0), retry(2), retry(5)) },
    { weight: 1, arbitrary: fc.constant<Outcome>(reject) },
    { weight: 1, arbitrary: fc.constant<Outcome>(UNTRIED) },
    { weight: 1, arbitrary: fc.constant<Outcome>(EXPIRED) },
  )
  const rounds = fc.array(
    fc.record({
      add: fc.array(fc.constantFrom('a', 'b', 'c', null), { maxLength: 4 }),
      size: fc.integer({ min: 1, max: 6 }),
      outcomes: fc.array(outcome, { minLength: 1, maxLength: 8 }),
      isBatch: fc.boolean(),
      dies: fc.boolean(),
    }),
    { minLength: 1, maxLength: 30 },
  )
  const stuck = fc.constantFrom('block', 'park', 'skip')
  fc.assert(
    fc.property(rounds, stuck, (script, whenStuck) => {
      const model = new PartitionModel(policy({ whenStuck, backoff: NO_BACKOFF }))
      for (const round of script) model.play(round)
      model.finish()

      expect(model.faults).toEqual([])
    }),
    { numRuns: Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 300) },
  )
})
