// Instances that write state side by side, and others that read it.

import { stateKey, workflow } from '../../../src/index.ts'
import { expectResult, runAtOnce } from '../load.ts'
import { judge } from '../outcome.ts'
import { type Scenario, withRuntime } from '../scenario.ts'

const LONGEST_WAIT = '60s'
const FULL = { writers: 10, keys: 100, executions: 5 }
const SMOKE = { writers: 2, keys: 10, executions: 2 }

const keyOf = (number: number) => stateKey<number>(`key-${number}`)

/** Writers of many keys over several executions, and readers of what they wrote. */
export const STATE: Scenario = {
  name: 'state',
  what: '10 writers of 100 keys over 5 executions, then 10 that read theirs: every value is right',
  async play({ store }, size) {
    const { writers, keys, executions } = size === 'smoke' ? SMOKE : FULL
    const numbers = Array.from({ length: keys }, (_, i) => i)
    const writes = workflow('writes', async (execution: number, ctx): Promise<number> => {
      // Each execution changes what the one before has left.
      for (const number of numbers) {
        ctx.state.set(keyOf(number), (ctx.state.get(keyOf(number)) ?? 0) + number)
        if (number % 10 === 9) await ctx.sleep(1)
      }
      return execution === executions ? execution : ctx.continueAsNew(execution + 1)
    })
    const reads = workflow('reads', async (id: string, ctx) => {
      const writer = ctx.get(id)
      const values = await ctx.all(numbers.map((number) => writer.readState(keyOf(number))))
      return values.reduce<number>((sum, value) => sum + (value ?? Number.NaN), 0)
    })
    const expected = executions * ((keys * (keys - 1)) / 2)
    return withRuntime(store, { register: [writes, reads] }, async (runtime) => {
      const written = await runAtOnce(writers, async (number) => {
        const options = { id: `writer-${number}`, timeout: LONGEST_WAIT } as const
        expectResult(await runtime.run(writes, 1, options), executions)
      })
      const read = await runAtOnce(writers, async (number) => {
        const options = { timeout: LONGEST_WAIT } as const
        expectResult(await runtime.run(reads, `writer-${number}`, options), expected)
      })
      return [
        { part: 'writers', outcome: written, findings: judge(written) },
        { part: 'readers', outcome: read, findings: judge(read) },
      ]
    })
  },
}
