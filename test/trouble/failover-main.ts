// Plays failovers of a primary to its standby, under load, and prints how they went:
// `npm run failover -- [--rounds 3] [--seed 1] [--following synchronous|asynchronous] [--short]`.
// Ends with 1 when something was found that must not be.

import { parseArgs } from 'node:util'
import { type Following, LONG, playFailover, SHORT } from './failover.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '1' },
    seed: { type: 'string' },
    following: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})
// By way of exit, so that nothing started here stays behind.
process.once('SIGINT', () => process.exit(130))
process.once('SIGTERM', () => process.exit(143))
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const firstSeed = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed)
const kinds: readonly Following[] = ['synchronous', 'asynchronous']

for (let round = 0; round < Number(values.rounds); round++) {
  for (const following of kinds) {
    if (values.following !== undefined && values.following !== following) continue
    const seed = firstSeed + round
    const report = await playFailover(following, seed, values.short ? SHORT : LONG)
    const { findings, acknowledged, lost, instances, againMs } = report
    say(
      `${following}, seed ${seed}: ${acknowledged} starts acknowledged before the primary was ` +
        `killed, ${lost} of them lost; works again ${(againMs / 1000).toFixed(1)} s after the ` +
        `promotion; ${instances} instances ended in all; ${findings.length} findings`,
    )
    for (const finding of findings) say(`  ${finding}`)
    if (findings.length > 0) process.exitCode = 1
  }
}
