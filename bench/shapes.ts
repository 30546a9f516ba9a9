// The workflows that are measured, and how load is put on whatever runs them.

import { setTimeout } from 'node:timers/promises'

import { activity, workflow, type Workflow } from '../src/index.ts'

/** A workflow to be measured. Each peer has its own code for it, by name. */
export interface Shape {
  readonly name: 'W1' | 'W5' | 'W10' | 'FAN'
  readonly steps: number
  readonly workflow: Workflow<undefined, number>
}

const noop = activity('noop', () => 1)

/** Sequential activities by their number, and 50 side by side. */
export const SHAPES: readonly Shape[] = [
  { name: 'W1', steps: 1, workflow: sequential('W1', 1) },
  { name: 'W5', steps: 5, workflow: sequential('W5', 5) },
  { name: 'W10', steps: 10, workflow: sequential('W10', 10) },
  {
    name: 'FAN',
    steps: 50,
    workflow: workflow<undefined, number>('FAN', async (_, ctx) => {
      const done = await Promise.all(Array.from({ length: 50 }, () => ctx.run(noop)))
      return done.length
    }),
  },
]

/** All the code of the shapes. */
export const SHAPE_CODE = [noop, ...SHAPES.map((shape) => shape.workflow)]

function sequential(name: string, steps: number): Workflow<undefined, number> {
  return workflow<undefined, number>(name, async (_, ctx) => {
    let sum = 0
    for (let step = 0; step < steps; step++) sum += await ctx.run(noop)
    return sum
  })
}

/** What a stretch of full load came to. */
export interface Load {
  readonly workflows: number
  readonly seconds: number
  /** CPU time of this process, all threads, as a share of one core. */
  readonly cpu: number
  /** Share of the time in which the event loop of the main thread was busy. */
  readonly loop: number
}

/** Keeps so many runs going for so long, and waits for the last ones. */
export async function fullLoad(
  run: () => Promise<unknown>,
  { inFlight, ms }: { readonly inFlight: number; readonly ms: number },
): Promise<Load> {
  const startMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const loopBefore = performance.eventLoopUtilization()
  let workflows = 0
  const lane = async (): Promise<void> => {
    while (performance.now() - startMs < ms) {
      await run()
      workflows++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  const seconds = (performance.now() - startMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  return {
    workflows,
    seconds,
    cpu: (user + system) / 1e6 / seconds,
    loop: performance.eventLoopUtilization(loopBefore).utilization,
  }
}

/** How long each of so many runs takes, one at a time, in milliseconds. */
export async function oneAtATime(run: () => Promise<unknown>, samples: number): Promise<number[]> {
  const took: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    const startMs = performance.now()
    await run()
    took.push(performance.now() - startMs)
    // So that the machine comes to rest, as it does between requests of a quiet service.
    await setTimeout(2)
  }
  return took
}
