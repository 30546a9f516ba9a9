// Instances that sleep: how late they wake, and that none wakes early.

import { workflow } from '../../../src/index.ts'
import { randomFrom } from '../../e2e/random.ts'
import { expectResult, runAtOnce } from '../load.ts'
import { judge, type Outcome } from '../outcome.ts'
import { type Result, type Scenario, withRuntime } from '../scenario.ts'

const LONGEST_WAIT = '120s'
const SLEEPS = 3
// The store's clock and that of this process are read a moment apart.
const EARLY_MS = 20

/** Short sleeps stay in memory; long ones are released and claimed when due. */
const FULL = [
  { part: 'short', sleepers: 500, fromMs: 50, toMs: 1_000 },
  { part: 'long', sleepers: 200, fromMs: 6_000, toMs: 8_000 },
]
const SMOKE = [{ part: 'short', sleepers: 10, fromMs: 10, toMs: 50 }]

/** The table shows by how much each sleep was late, not how long the instance took. */
export const TIMERS: Scenario = {
  name: 'timers',
  what: '500 that sleep three times for up to 1 s, then 200 for up to 8 s; times are lateness, none early',
  async play({ store }, size) {
    const results: Result[] = []
    for (const { part, sleepers, fromMs, toMs } of size === 'smoke' ? SMOKE : FULL) {
      const lateMs: number[] = []
      const random = randomFrom(1)
      const sleeps = workflow(`sleeps-${part}`, async (forMs: readonly number[], ctx) => {
        for (const ms of forMs) {
          const due = ctx.now().getTime() + ms
          await ctx.sleep(ms)
          await ctx.step('awake', () => void lateMs.push(Date.now() - due))
        }
        return forMs.length
      })
      const outcome = await withRuntime(store, { register: sleeps }, (runtime) =>
        runAtOnce(sleepers, async () => {
          const forMs = Array.from({ length: SLEEPS }, () =>
            Math.round(fromMs + random() * (toMs - fromMs)),
          )
          expectResult(await runtime.run(sleeps, forMs, { timeout: LONGEST_WAIT }), SLEEPS)
        }),
      )
      const findings = judge(outcome)
      if (lateMs.length !== sleepers * SLEEPS) {
        findings.push(`${lateMs.length} sleeps ended, wanted exactly ${sleepers * SLEEPS}`)
      }
      const early = lateMs.filter((ms) => ms < -EARLY_MS)
      if (early.length > 0) {
        findings.push(
          `${early.length} sleeps ended too early, by ${-Math.min(...early)} ms at most`,
        )
      }
      results.push({ part, outcome: ofSleeps(outcome, lateMs), findings })
    }
    return results
  },
}

function ofSleeps(outcome: Outcome, lateMs: readonly number[]): Outcome {
  return { ...outcome, started: lateMs.length, tookMs: lateMs, endedMs: [] }
}
