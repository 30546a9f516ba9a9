// A process that runs workflows, one of which kills its process: `poison.ts <order as JSON>`. It
// prints `ready` when its runtime works. On SIGTERM it closes its runtime and ends by itself.

import { setTimeout as passTime } from 'node:timers/promises'
import { activity, open, workflow } from '../../../src/index.ts'
import { storeOf, type StorePlace } from '../store-place.ts'

/** What such a process is given. */
export interface PoisonOrder {
  readonly store: StorePlace
  readonly leaseMs: number
  /** Whether its code is mended: nothing kills any more. */
  readonly mended: boolean
}

/** What kills. */
export type Poison = 'activity' | 'step' | 'code' | 'task'

/** The workflows, for the process that starts them and for those that run them. */
export function workflowsOf(mended: boolean) {
  const kill = (how: 'exit' | 'kill'): string => {
    if (mended) return 'survived'
    if (how === 'exit') process.exit(1)
    process.kill(process.pid, 'SIGKILL')
    // It takes a moment until the process is gone.
    for (;;);
  }
  const kills = activity('kills', { retry: { maxAttempts: 100 } }, async () => kill('kill'))
  const harmless = activity('harmless', async (ms: number) => {
    await passTime(ms)
    return ms
  })
  return {
    // A process that has not run the workflow yet has to have it, too.
    kills,
    deadly: workflow('deadly', async (poison: Poison, ctx) => {
      // Something that is recorded before: it must not be what is blamed.
      await ctx.run(harmless, 1)
      switch (poison) {
        case 'activity':
          return ctx.run(kills)
        case 'task':
          return ctx.run(kills, undefined, { session: 'one' })
        case 'step':
          return ctx.step('kills', () => kill('exit'))
        case 'code':
          return kill('exit')
      }
    }),
    // Longer than it takes to die of the other one: alone it comes to its end.
    neighbour: workflow('neighbour', async (n: number, ctx) => {
      await ctx.run(harmless, 200 + n)
      await ctx.sleep(50)
      return ctx.run(harmless, n)
    }),
  }
}

async function main(order: PoisonOrder): Promise<void> {
  const runtime = await open(storeOf(order.store), {
    register: workflowsOf(order.mended),
    lease: order.leaseMs,
  })
  process.once('SIGTERM', () => void runtime.close({ drain: 0 }))
  process.stdout.write('ready\n')
}

// Its workflows are needed elsewhere, too.
if (process.argv[2]?.startsWith('{')) await main(JSON.parse(process.argv[2]) as PoisonOrder)
