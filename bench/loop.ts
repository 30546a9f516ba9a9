// Instances that continue as new, again and again: what the change from one execution to the next
// costs.

import { workflow } from '../build/index.js'
import { checkRecorded, type Place, withRuntime } from './holdfast.ts'

/** How many instances loop side by side, and how many executions each of them has. */
export interface LoopSize {
  readonly instances: number
  readonly executions: number
}

const loop = workflow<number, number>('loop', async (left, ctx) => {
  if (left > 1) await ctx.continueAsNew(left - 1)
  return left
})

/** Executions per second, of all instances together. */
export async function executionRate(place: Place, size: LoopSize): Promise<number> {
  const warmUp = { instances: size.instances, executions: Math.ceil(size.executions / 20) }
  const seconds = await withRuntime(place.store(), loop, async (runtime) => {
    const runAll = ({ instances, executions }: LoopSize): Promise<number[]> =>
      Promise.all(Array.from({ length: instances }, () => runtime.run(loop, executions)))
    await runAll(warmUp)
    const startMs = performance.now()
    await runAll(size)
    return (performance.now() - startMs) / 1_000
  })
  const executions = size.instances * (warmUp.executions + size.executions)
  // Each of them is started and ended.
  await checkRecorded(place, 'LOOP', { executions, events: 2 * executions })
  return (size.instances * size.executions) / seconds
}
