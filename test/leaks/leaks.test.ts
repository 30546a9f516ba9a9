// Whatever is done many times leaves nothing behind. `npm run leaks` does it for longer.

import { expect, test } from 'vitest'
import { QUEUE_LOADS } from './queue-loads.ts'
import { postgresUrl } from '../support/postgres.ts'
import { leaksIn, type Load, watchLoad } from './watch.ts'
import { WORKER_LOADS } from './worker-loads.ts'
import { workflowLoads } from './workflow-loads.ts'

const ROUNDS = 3
const TIMES_PER_ROUND = 2_000
// What is compiled late, in so short a run.
const NOISE_BYTES = 250_000

/** Those that open files take their time; what they might leave is counted where that is. */
const QUICK = [...WORKER_LOADS, ...QUEUE_LOADS].filter(({ share }) => share > 1 / 10)

test.each(QUICK)(
  '$name leave nothing behind',
  { timeout: 60_000 },
  async ({ open, share, maxBytesEach }) => {
    const timesPerRound = Math.ceil(TIMES_PER_ROUND * share)

    const findings = await watchLoad(open, { rounds: ROUNDS, timesPerRound })

    expect(leaksIn(findings, maxBytesEach + NOISE_BYTES / timesPerRound)).toEqual([])
  },
)

// So few times say little about the heap: it warms up for longer.
test.each(workflowLoads(async () => postgresUrl()))(
  '$name leave no handle and no listener behind',
  { timeout: 60_000 },
  async ({ open }) => {
    const findings = await watchLoad(open, { rounds: ROUNDS, timesPerRound: 100 })

    expect(leaksIn(findings, Infinity)).toEqual([])
  },
)

test('a load that grows is named', () => {
  const first = { heapBytes: 0, handles: 5, listeners: 5, ticks: 20 }
  const last = { heapBytes: 0, handles: 9, listeners: 10, ticks: 90 }

  expect(leaksIn({ first, last: first, bytesEach: 10 }, 32)).toEqual([])
  expect(leaksIn({ first, last, bytesEach: 50 }, 32)).toEqual([
    '50.0 bytes each',
    'handles 5 to 9',
    'listeners 5 to 10',
    'ticks 20 to 90',
  ])
})

test('a load that leaves something behind is found', async () => {
  const left: object[] = []
  const leak: Load = {
    async run(times) {
      for (let i = 0; i < times; i++) left.push({ number: i, text: `${i}` })
    },
    async [Symbol.asyncDispose]() {},
  }
  const watch = { rounds: ROUNDS, timesPerRound: TIMES_PER_ROUND }

  const { bytesEach } = await watchLoad(async () => leak, watch)

  expect(bytesEach).toBeGreaterThan(32)
  expect(left).toHaveLength((ROUNDS + 1) * TIMES_PER_ROUND)
})
