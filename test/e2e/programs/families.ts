// Workflows with children, executions, and an end that is asked for from outside.

import { stateKey, workflow, WorkflowError } from '../../../src/index.ts'
import { type Effects, takes } from './effects.ts'
import { never } from './jobs.ts'
import type { Job } from './workflows.ts'

const sum = stateKey<number>('sum')

export type Families = ReturnType<typeof familiesOn>

export function familiesOn({ quick, reserve, release, clean }: Effects) {
  const leaf = workflow('leaf', async ({ seed, n }: Job, ctx) => {
    await ctx.sleep(takes(seed, n, 100))
    return ctx.run(quick, { value: seed + n, ms: takes(seed, n, 80) })
  })

  const fails = workflow('fails', async ({ seed, n }: Job, ctx) => {
    await ctx.run(quick, { value: seed, ms: 10 })
    throw new TypeError(`fails ${n}`)
  })

  // Suspended and resumed by the driving process.
  const rounds = workflow('rounds', async ({ seed, n }: Job, ctx): Promise<number> => {
    const value = await ctx.run(quick, { value: seed + n, ms: takes(seed, n, 60) })
    ctx.state.set(sum, (ctx.state.get(sum) ?? 0) + value)
    ctx.progress(n)
    return n > 0 ? ctx.continueAsNew({ seed, n: n - 1 }) : ctx.state.get(sum)!
  })

  // Ends only when it is asked to.
  const lingers = workflow('lingers', async ({ seed, n }: Job, ctx) => {
    try {
      await ctx.receive(never)
    } finally {
      await ctx.uncancellable(async () => {
        await ctx.sleep(takes(seed, n, 60))
        await ctx.run(clean, { value: n, ms: takes(seed, n, 120) })
      })
    }
  })

  return {
    leaf,
    fails,
    rounds,
    lingers,

    family: workflow('family', async ({ seed, n }: Job, ctx): Promise<unknown> => {
      // Those that it leaves behind on purpose: a promise that is handled is not a forgotten one.
      const left = ctx.run(lingers, { seed, n })
      left.catch(() => {})
      // Its children are closed with the execution they were started in; this one never began.
      if (ctx.info.execution === 1 && seed % 2 === 0) {
        left.cancel()
        return ctx.continueAsNew({ seed, n })
      }
      ctx.run(lingers, { seed, n }, { onParentClose: 'terminate' }).catch(() => {})
      ctx.run(leaf, { seed: seed + 1, n }, { onParentClose: 'abandon' }).catch(() => {})
      const failed = ctx.run(fails, { seed, n }).catch((error: unknown) => {
        return error instanceof WorkflowError ? error.message : String(error)
      })
      const grown = await ctx.all(
        Array.from({ length: n }, (_, i) => {
          return ctx.run(i % 3 === 0 ? rounds : leaf, { seed: seed + i, n: i % 4 })
        }),
      )
      return [...grown, (await failed).endsWith(`fails ${n}`)]
    }),

    // Cancelled by the driving process: what was reserved is released, its child cleans up.
    cleans: workflow('cleans', async ({ seed, n }: Job, ctx) =>
      ctx.saga(async (undo) => {
        for (let i = 0; i < n; i++) {
          await ctx.run(reserve, { value: i, ms: takes(seed, i, 60) })
          undo(() => ctx.run(release, { value: i, ms: takes(seed, i, 60) }))
        }
        await ctx.run(lingers, { seed, n })
      }),
    ),

    // Terminated by the driving process; its child is cancelled, as children are.
    halts: workflow('halts', async ({ seed, n }: Job, ctx) => {
      const child = ctx.run(lingers, { seed, n })
      for (let i = 0; i < n; i++) await ctx.run(quick, { value: i, ms: takes(seed, i, 60) })
      await child
    }),
  }
}
