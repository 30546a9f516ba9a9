// Histories that weigh megabytes.

import { setTimeout as pass } from 'node:timers/promises'

import { activity, workflow } from '../../../src/index.ts'
import { expectResult, keepRunning } from '../load.ts'
import { judge } from '../outcome.ts'
import { type Scenario, withRuntime } from '../scenario.ts'

const KILOBYTES = [10, 50, 100]
const ACTIVITY_MS = 5
const LONGEST_WAIT = '120s'

const FULL = { concurrent: 5, seconds: 10, activities: 20, children: 5 }
const SMOKE = { concurrent: 2, seconds: 0.1, activities: 3, children: 2 }

/** Inputs and results of 10, 50 and 100 KB, in activities and children. */
export const PAYLOADS: Scenario = {
  name: 'large-payloads',
  what: '5 in flight for 10 s, 20 activities and 5 children each, 10, 50 and 100 KB in and out, 1 at a time',
  async play({ store }, size) {
    const { concurrent, seconds, activities, children } = size === 'smoke' ? SMOKE : FULL
    let ran = 0
    const grow = activity('grow', async (text: string) => {
      ran++
      await pass(ACTIVITY_MS)
      return `${text}!`
    })
    const child = workflow('heavy-child', async (text: string, ctx) => ctx.run(grow, text))
    const heavy = workflow('heavy', async (_: undefined, ctx) => {
      let length = 0
      for (let i = 0; i < activities; i++) length += (await ctx.run(grow, payload(i))).length
      const numbers = Array.from({ length: children }, (_one, i) => i)
      const grown = await ctx.all(numbers.map((i) => ctx.run(child, payload(i))))
      return grown.reduce((sum, text) => sum + text.length, length)
    })
    const options = { register: [heavy, child], concurrency: { activities: 1 } }
    const expected = lengthOf(activities) + lengthOf(children)
    const outcome = await withRuntime(store, options, (runtime) =>
      keepRunning({ concurrent, ms: seconds * 1_000 }, async () => {
        expectResult(await runtime.run(heavy, undefined, { timeout: LONGEST_WAIT }), expected)
      }),
    )
    const all = { ...outcome, activities: ran }
    const criteria = { completedShare: 0.99, activities: outcome.started * (activities + children) }
    return [{ outcome: all, findings: judge(all, criteria) }]
  },
}

function payload(i: number): string {
  return 'x'.repeat(KILOBYTES[i % KILOBYTES.length]! * 1_024)
}

/** What this many of them come to, grown by one character each. */
function lengthOf(count: number): number {
  let sum = 0
  for (let i = 0; i < count; i++) sum += payload(i).length + 1
  return sum
}
