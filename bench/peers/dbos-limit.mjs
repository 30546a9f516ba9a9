// Workflows of DBOS on a partitioned queue: each partition runs so many at a time. Started by
// `bench/dbos-limit.ts`.

import { createInterface } from 'node:readline'

import { DBOS, plan } from './dbos-process.mjs'

const QUEUE = 'limited'
const running = new Map()
let most = 0

const limited = DBOS.registerWorkflow(
  async (n) => {
    const key = n % plan.keys
    return await DBOS.runStep(
      async () => {
        const count = (running.get(key) ?? 0) + 1
        running.set(key, count)
        most = Math.max(most, count)
        await Promise.resolve()
        running.set(key, running.get(key) - 1)
        return n
      },
      { name: 'work' },
    )
  },
  { name: 'limited' },
)

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
await DBOS.launch()
await DBOS.registerQueue(QUEUE, {
  partitionConcurrency: plan.concurrency,
  minPollingIntervalMs: plan.pollMs,
})
console.log('ready')
await lines.next()

const beganMs = performance.now()
let next = 0
const lane = async () => {
  while (next < plan.starts) {
    const n = next++
    const enqueueOptions = { queuePartitionKey: `key ${n % plan.keys}` }
    await DBOS.startWorkflow(limited, { queueName: QUEUE, enqueueOptions })(n)
  }
}
await Promise.all(Array.from({ length: plan.inFlight }, lane))
// Waiting for each result would ask for each by itself; the last end is what counts.
for (;;) {
  const open = await DBOS.listWorkflows({
    status: ['ENQUEUED', 'PENDING'],
    limit: 1,
    loadInput: false,
  })
  if (open.length === 0) break
  await new Promise((resolve) => setTimeout(resolve, 5))
}
const seconds = (performance.now() - beganMs) / 1_000
console.log(JSON.stringify({ seconds, most }))
await lines.next()
await DBOS.shutdown()
process.exit(0)
