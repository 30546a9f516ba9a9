// Does things some hundred thousand times and watches the heap and what keeps the process alive:
// `npm run leaks -- [--times 200000] [name of a load] …`. Ends with 1 when something is left behind.

import { parseArgs } from 'node:util'
import { QUEUE_LOADS } from './queue-loads.ts'
import { watchLoad } from './watch.ts'
import { WORKER_LOADS } from './worker-loads.ts'

const ROUNDS = 8

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'string', default: '200000' } },
})
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const loads = [...WORKER_LOADS, ...QUEUE_LOADS].filter(({ name }) => {
  return positionals.length === 0 || positionals.some((wanted) => name.includes(wanted))
})

for (const { name, open, share, maxBytesEach } of loads) {
  // The first round does not count.
  const timesPerRound = Math.ceil((Number(values.times) * share) / (ROUNDS + 1))
  const { first, last, bytesEach } = await watchLoad(open, { rounds: ROUNDS, timesPerRound })
  const isLeaking = bytesEach > maxBytesEach || last.handles > first.handles + 2
  say(
    `${name}, ${timesPerRound * (ROUNDS + 1)} times: heap ${megabytes(first.heapBytes)} to ` +
      `${megabytes(last.heapBytes)}, ${bytesEach.toFixed(1)} bytes each, ` +
      `handles ${first.handles} to ${last.handles}${isLeaking ? ' LEAK' : ''}`,
  )
  if (isLeaking) process.exitCode = 1
}
