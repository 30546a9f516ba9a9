import { expect, test } from 'vitest'

import { harmless, type Metrics } from './metrics.ts'

test('a sink is told everything, as a method of its own', () => {
  const told: unknown[] = []
  class Sink implements Metrics {
    readonly #told = told
    count(...args: unknown[]): void {
      this.#told.push(['count', ...args])
    }
    record(...args: unknown[]): void {
      this.#told.push(['record', ...args])
    }
  }
  const metrics = harmless(new Sink(), (error) => expect.unreachable(String(error)))

  metrics.count('passes', 2, { worker: 'a' })
  metrics.record('pass_ms', 1.5, { worker: 'b' })

  expect(told).toEqual([
    ['count', 'passes', 2, { worker: 'a' }],
    ['record', 'pass_ms', 1.5, { worker: 'b' }],
  ])
})

const trouble = new Error('no')

const fail = (): never => {
  throw trouble
}

test.each([
  ['throws', fail],
  ['rejects', () => Promise.reject(trouble)],
  // oxlint-disable-next-line unicorn/no-thenable -- a sink may return anything
  ['has a then that throws', () => ({ then: fail })],
])('one that %s harms nobody, and its first mistake is told', async (_, how: () => unknown) => {
  const complaints: unknown[] = []
  const sink = { count: how, record: how }
  const metrics = harmless(sink, (error) => complaints.push(error))

  for (let i = 0; i < 3; i++) {
    metrics.count('passes', 1, {})
    metrics.record('pass_ms', 1, {})
  }
  await new Promise(setImmediate)

  expect(complaints).toEqual([trouble])
})

test('a counter that throws does not keep times from being taken', () => {
  const times: number[] = []
  const metrics = harmless(
    {
      count: fail,
      record: (_, ms) => times.push(ms),
    },
    () => {},
  )

  metrics.count('passes', 1, {})
  metrics.record('pass_ms', 1, {})

  expect(times).toEqual([1])
})
