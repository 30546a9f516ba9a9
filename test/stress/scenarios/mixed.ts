// A little of everything in each instance.

import { activity, channel, stateKey, workflow } from '../../../src/index.ts'
import { expectResult, keepRunning } from '../load.ts'
import { judge } from '../outcome.ts'
import { type Scenario, withRuntime } from '../scenario.ts'

const LONGEST_WAIT = '60s'
const ACTIVITIES = 3

const go = channel<number>('go')
const total = stateKey<number>('total')

/** Activities, a child, a timer, a message, state, progress and a second execution. */
export const MIXED: Scenario = {
  name: 'mixed',
  what: '20 in flight for 10 s: 3 activities, a child, a timer, a message, state and a second execution',
  async play({ store }, size) {
    let ran = 0
    const square = activity('square', (number: number) => {
      ran++
      return number * number
    })
    const child = workflow('mixed-child', async (number: number, ctx) => ctx.run(square, number))
    const mixed = workflow('mixed', async (execution: number, ctx): Promise<number> => {
      if (execution === 2) return ctx.state.get(total) ?? 0
      const [one, two] = await ctx.all([ctx.run(square, 1), ctx.run(square, 2)])
      ctx.progress('half-way')
      await ctx.sleep(5)
      const sum = one + two + (await ctx.run(child, 3)) + (await ctx.receive(go))
      ctx.state.set(total, sum)
      return ctx.continueAsNew(execution + 1)
    })
    const ms = size === 'smoke' ? 300 : 10_000
    const outcome = await withRuntime(store, { register: [mixed, child] }, (runtime) =>
      keepRunning({ concurrent: 20, ms }, async (number) => {
        const instance = await runtime.start(mixed, 1)
        await instance.send(go, number)
        expectResult(await instance.result({ timeout: LONGEST_WAIT }), 14 + number)
      }),
    )
    const all = { ...outcome, activities: ran }
    return [
      { outcome: all, findings: judge(all, { activities: outcome.tookMs.length * ACTIVITIES }) },
    ]
  },
}
