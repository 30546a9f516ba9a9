// oxlint-disable no-console -- a program that prints
//
// Fills a database of its own with ended instances, and lists, filters, counts, prunes and deletes them
// while a small workflow runs again and again:
//
//   npm run million -- [--store postgres|sqlite] [--instances 1000000]

import { parseArgs } from 'node:util'
import { type Latencies, type Place, planOfList, runMillion } from './million.ts'
import { atPlace } from './million-place.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    instances: { type: 'string', default: '1000000' },
  },
})
const count = Number(values.instances)
// By way of exit, so that nothing started here stays behind.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

await atPlace(values.store, run)

async function run(place: Place): Promise<void> {
  const { calls, latencies } = await runMillion(place, count)
  console.log(`${place.kind}, ${count} ended instances`)
  for (const { call, answer, ms } of calls) {
    console.log(`${call.padEnd(42)} ${String(answer).padStart(9)} ${ms.toFixed(0).padStart(8)} ms`)
  }
  for (const [beside, measured] of Object.entries(latencies)) {
    console.log(`small workflows, ${beside.padEnd(16)} ${line(measured)}`)
  }
  console.log(await planOfList(place))
}

function line({ count: runs, median, p99, max }: Latencies): string {
  const [a, b, c] = [median, p99, max].map((ms) => `${ms.toFixed(1)} ms`)
  return `${runs} runs, median ${a}, p99 ${b}, longest ${c}`
}
