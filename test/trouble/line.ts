// Work for tests that look at connections rather than at workflows: steps whose effects are counted.

import { activity, workflow } from '../../src/index.ts'

/** A workflow and what it has done. */
export interface CountedWork {
  /** Runs `n` activities one after the other; their sum. */
  readonly line: ReturnType<typeof lineOf>
  /** How often each was run. */
  readonly runs: ReadonlyMap<string, number>
}

/** Work whose activities are counted by their idempotency key. */
export function countedWork(): CountedWork {
  const runs = new Map<string, number>()
  return { line: lineOf(runs), runs }
}

function lineOf(runs: Map<string, number>) {
  const count = activity('count', async (n: number, { idempotencyKey: key }) => {
    runs.set(key, (runs.get(key) ?? 0) + 1)
    return n
  })
  return workflow('line', async (n: number, ctx) => {
    let sum = 0
    for (let i = 1; i <= n; i++) {
      sum += await ctx.run(count, i)
      await ctx.sleep(20)
    }
    return sum
  })
}
