// Does things some hundred thousand times and watches heap, handles, listeners and ticks:
// `npm run leaks -- [--times 200000] [name of a load] …`. Ends with 1 when something is left behind.

import { parseArgs } from 'node:util'
import { QUEUE_LOADS } from './queue-loads.ts'
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts'
import { leaksIn, watchLoad } from './watch.ts'
import { WORKER_LOADS } from './worker-loads.ts'
import { workflowLoads } from './workflow-loads.ts'

const ROUNDS = 8

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: 'string', default: '200000' } },
})
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
let server: PostgresServer | undefined
const serverUrl = async (): Promise<string> => (server ??= await startPostgres()).url
const all = [...WORKER_LOADS, ...QUEUE_LOADS, ...workflowLoads(serverUrl)]
const loads = all.filter(({ name }) => {
  return positionals.length === 0 || positionals.some((wanted) => name.includes(wanted))
})
// By way of exit, so that nothing started here stays behind.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))

for (const { name, open, share, maxBytesEach } of loads) {
  // The first round does not count.
  const timesPerRound = Math.ceil((Number(values.times) * share) / (ROUNDS + 1))
  const findings = await watchLoad(open, { rounds: ROUNDS, timesPerRound })
  const { first, last, bytesEach } = findings
  const leaks = leaksIn(findings, maxBytesEach)
  say(
    `${name}, ${timesPerRound * (ROUNDS + 1)} times: heap ${megabytes(first.heapBytes)} to ` +
      `${megabytes(last.heapBytes)}, ${bytesEach.toFixed(1)} bytes each, ` +
      `handles ${first.handles} to ${last.handles}, listeners ${first.listeners} to ` +
      `${last.listeners}, ticks a round ${first.ticks} to ${last.ticks}` +
      (leaks.length === 0 ? '' : ` LEAK: ${leaks.join('; ')}`),
  )
  if (leaks.length > 0) process.exitCode = 1
}
await server?.remove()
