import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CommitBatch } from '../../store/commits.ts'
import { packCommit, unpackCommit } from './packed-commit.ts'

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
const limit = fc.record({
  key: fc.string(),
  concurrency: fc.option(whole),
  rate: fc.option(fc.record({ count: whole, perMs: whole })),
})
const task = fc.record({
  command: whole,
  activity: fc.string(),
  input: fc.string(),
  tag: fc.string(),
  session: fc.string(),
  options: fc.string(),
  token: whole,
  attempts: whole,
  startBy: fc.option(whole),
  limit: fc.option(limit),
})
const effects = fc.option(
  fc.record({
    parked: fc.array(whole),
    closes: fc.oneof(fc.constant('all' as const), fc.array(whole)),
    clearsState: fc.boolean(),
    state: fc.array(fc.record({ key: fc.string(), value: fc.option(fc.string()) })),
    progress: fc.option(fc.string()),
    replies: fc.array(fc.record({ to: fc.string(), payload: fc.string() })),
    tasks: fc.array(task),
    dropsTasks: fc.array(whole),
  }),
)
const parent = fc.record({
  iid: whole,
  id: fc.string(),
  execution: whole,
  command: whole,
  onClose: fc.constantFrom('cancel', 'terminate', 'abandon', 'independent'),
})
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
      parent: fc.option(parent),
      labels: fc.oneof(fc.constant('{}'), fc.string()),
      messages: fc.array(fc.record({ name: fc.string(), payload: fc.string() })),
      effects,
    }),
  ),
  turns: fc.array(
    fc.record({
      iid: whole,
      epoch: whole,
      turn: fc.option(row),
      taken: fc.array(whole),
      effects,
      next: fc.oneof(
        fc.constant({ kind: 'keep' as const }),
        fc.record({ kind: fc.constant('release' as const), wakeAt }),
        fc.record({ kind: fc.constant('suspend' as const), report: fc.string() }),
        fc.record({ kind: fc.constant('end' as const), end }),
        fc.record({
          kind: fc.constant('continue' as const),
          started: row,
          workflow: whole,
          keep: fc.boolean(),
        }),
      ),
    }),
  ),
}) as fc.Arbitrary<CommitBatch>

test('a batch crosses to the thread and comes out as it went in', () => {
  fc.assert(
    fc.property(batch, (given) => {
      const crossed = unpackCommit(structuredClone(packCommit(given)))

      expect(crossed).toEqual(given)
    }),
  )
})

test('fields that a plain start or turn lacks take no space', () => {
  const turn = { execution: 1, turn: 1, at: 5, first: 1, count: 1, events: 'e' }
  const plain = { parent: null, labels: '{}', messages: [], effects: null }
  const start = { iid: 1, id: 'a', workflow: 1, owned: true, wakeAt: null, turn, end: null }

  const { numbers, texts } = packCommit({
    runtime: 1,
    server: 's',
    starts: [{ ...start, ...plain }],
    turns: [{ iid: 1, epoch: 1, turn, taken: [], effects: null, next: { kind: 'keep' } }],
  })

  // The batch itself: the runtime, the server, and how many starts and turns there are.
  expect([numbers.length, texts.length]).toEqual([3 + 10 + 9, 1 + 3])
})
