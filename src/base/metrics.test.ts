import { expect, test } from 'vitest'

import { silentLog } from './log.ts'
import { harmless, type Metrics } from './metrics.ts'

test('a sink receives everything, as a method of its own', () => {
  const received: unknown[] = []
  class Sink implements Metrics {
    readonly #received = received
    count(...args: unknown[]): void {
      this.#received.push(['count', ...args])
    }
    record(...args: unknown[]): void {
      this.#received.push(['record', ...args])
    }
  }
  const metrics = harmless(new Sink(), {
    error: (data) => expect.unreachable(JSON.stringify(data)),
  })

  metrics.count('passes', 2, { worker: 'a' })
  metrics.record('pass_ms', 1.5, { worker: 'b' })

  expect(received).toEqual([
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
])(
  'one that %s does not affect its caller, and its first error is reported',
  async (_, how: () => unknown) => {
    const complaints: unknown[] = []
    const sink = { count: how, record: how }
    const metrics = harmless(sink, { error: (data) => complaints.push(data) })

    for (let i = 0; i < 3; i++) {
      metrics.count('passes', 1, {})
      metrics.record('pass_ms', 1, {})
    }
    await new Promise(setImmediate)

    expect(complaints).toEqual([{ err: trouble }])
  },
)

test('a counter that throws does not keep times from being taken', () => {
  const times: number[] = []
  const metrics = harmless(
    {
      count: fail,
      record: (_, ms) => times.push(ms),
    },
    silentLog,
  )

  metrics.count('passes', 1, {})
  metrics.record('pass_ms', 1, {})

  expect(times).toEqual([1])
})
