// Whatever is done many times leaves nothing behind. `npm run leaks` does it for longer.

import { expect, test } from 'vitest'
import { QUEUE_LOADS } from './queue-loads.ts'
import { type Load, watchLoad } from './watch.ts'
import { WORKER_LOADS } from './worker-loads.ts'

const ROUNDS = 3
const TIMES_PER_ROUND = 2_000

/** Those that open files take their time; what they might leave is counted where that is. */
const QUICK = [...WORKER_LOADS, ...QUEUE_LOADS].filter(({ share }) => share > 1 / 10)

test.each(QUICK)(
  '$name leave nothing behind',
  { timeout: 60_000 },
  async ({ open, share, maxBytesEach }) => {
    const timesPerRound = Math.ceil(TIMES_PER_ROUND * share)

    const { first, last, bytesEach } = await watchLoad(open, { rounds: ROUNDS, timesPerRound })

    expect(bytesEach).toBeLessThan(maxBytesEach)
    expect(last.handles).toBeLessThanOrEqual(first.handles + 2)
  },
)

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
