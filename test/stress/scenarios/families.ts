// Many parents and children at once, which wrote into each other's rows in an order that deadlocked.

import { activity, type Store, workflow } from '../../../src/index.ts'
import { expectResult, runAtOnce } from '../load.ts'
import { judge, type Outcome } from '../outcome.ts'
import { type Scenario, withRuntime } from '../scenario.ts'

interface Families {
  readonly parents: number
  readonly children: number
  readonly within: '60s' | '90s'
}

const FULL: readonly Families[] = [
  { parents: 20, children: 5, within: '60s' },
  { parents: 30, children: 4, within: '90s' },
]
const SMOKE: readonly Families[] = [{ parents: 3, children: 2, within: '60s' }]

/** Parents that wait for all their children. */
export const FAMILIES: Scenario = {
  name: 'families',
  what: '20 parents of 5 children, then 30 of 4, all at once: all complete, within 60 s and 90 s',
  async play({ store }, size) {
    const results = []
    for (const families of size === 'smoke' ? SMOKE : FULL) {
      const outcome = await play(store, families)
      const { parents, children } = families
      const findings = judge(outcome, { activities: parents * children })
      results.push({ part: `${parents} × ${children}`, outcome, findings })
    }
    return results
  },
}

async function play(store: Store, { parents, children, within }: Families): Promise<Outcome> {
  let ran = 0
  const double = activity('double', (number: number) => {
    ran++
    return number * 2
  })
  const child = workflow('child', async (number: number, ctx) => ctx.run(double, number))
  const parent = workflow('parent', async (_: undefined, ctx) => {
    const numbers = Array.from({ length: children }, (_one, i) => i)
    const doubled = await ctx.all(numbers.map((number) => ctx.run(child, number)))
    return doubled.reduce((sum, number) => sum + number, 0)
  })
  const outcome = await withRuntime(store, { register: [parent, child] }, (runtime) =>
    runAtOnce(parents, async () => {
      const sum = await runtime.run(parent, undefined, { timeout: within })
      expectResult(sum, children * (children - 1))
    }),
  )
  return { ...outcome, activities: ran }
}
