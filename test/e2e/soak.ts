// Plays rounds of kill -9 and SIGSTOP, one after the other, on a PostgreSQL of its own and on
// SQLite files: `npm run soak -- [--rounds 50] [--store sqlite|postgres] [--seed 1] [--long]`. Ends
// with 1 at the first round that finds something; its seed plays much the same round again. In a
// long round more processes are harmed for a minute. `--restarts 2000` plays on PostgreSQL alone,
// with four processes and this many instances, and stops and starts the server as well.

import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres-server.ts'
import { LONG, playRound, roundWithRestarts, SHORT } from './rounds.ts'
import type { SceneKind } from './scene.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    store: { type: 'string' },
    seed: { type: 'string' },
    long: { type: 'boolean', default: false },
    restarts: { type: 'string' },
  },
})
const restarts = values.restarts === undefined ? undefined : Number(values.restarts)
const size = restarts === undefined ? (values.long ? LONG : SHORT) : roundWithRestarts(restarts)
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const firstSeed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
// By way of exit, so that nothing started here stays behind.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
const server = values.store === 'sqlite' ? undefined : await startPostgres()
const kinds: readonly SceneKind[] = [
  ...(values.store === 'postgres' || restarts !== undefined ? [] : [{ kind: 'sqlite' } as const]),
  ...(server === undefined ? [] : [{ kind: 'postgres', url: server.url } as const]),
]

try {
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const kind of kinds) {
      const seed = firstSeed + round
      const harmed = restarts === undefined ? undefined : server
      const { findings, ...counts } = await playRound(kind, seed, size, harmed)
      const totals = Object.entries(counts).map(([what, count]) => `${count} ${what}`)
      say(`${kind.kind}, seed ${seed}: ${totals.join(', ')}, ${findings.length} findings`)
      for (const finding of findings) say(`  ${finding}`)
      if (findings.length > 0) process.exitCode = 1
    }
    if (process.exitCode === 1) break
  }
} finally {
  await server?.remove()
}
