// The workflows that are measured, and how load is put on whatever runs them.

import { setTimeout } from 'node:timers/promises'

import { activity, workflow, type Workflow } from '../build/index.js'

/** A workflow to be measured. Each peer has its own code for it, by name. */
export interface Shape {
  readonly name: 'W1' | 'W5' | 'W10' | 'FAN' | 'CHILD'
  readonly steps: number
  readonly workflow: Workflow<undefined, number>
  /** What one run leaves in the tables. */
  readonly leaves: { readonly instances: number; readonly events: number }
}

const noop = activity('noop', () => 1)

/** Sequential activities by their number, and 50 side by side. */
export const SHAPES: readonly Shape[] = [
  { name: 'W1', steps: 1, leaves: leftBy(1), workflow: sequential('W1', 1) },
  { name: 'W5', steps: 5, leaves: leftBy(5), workflow: sequential('W5', 5) },
  { name: 'W10', steps: 10, leaves: leftBy(10), workflow: sequential('W10', 10) },
  {
    name: 'FAN',
    steps: 50,
    leaves: leftBy(50),
    workflow: workflow<undefined, number>('FAN', async (_, ctx) => {
      const done = await Promise.all(Array.from({ length: 50 }, () => ctx.run(noop)))
      return done.length
    }),
  },
]

const CHILDREN = 10

const child = sequential('child', 1)

/** A parent that waits for 10 children side by side, of one activity each; a child is its step. */
export const CHILD: Shape = {
  name: 'CHILD',
  steps: CHILDREN,
  leaves: {
    instances: 1 + CHILDREN,
    events: leftBy(CHILDREN).events + CHILDREN * leftBy(1).events,
  },
  workflow: workflow<undefined, number>('CHILD', async (_, ctx) => {
    const done = await ctx.all(Array.from({ length: CHILDREN }, () => ctx.run(child)))
    return done.length
  }),
}

/** All the code of the shapes. */
export const SHAPE_CODE = [noop, child, CHILD.workflow, ...SHAPES.map((shape) => shape.workflow)]

/** One instance that was started and ended, with two events for each step. */
function leftBy(steps: number): Shape['leaves'] {
  return { instances: 1, events: 2 + 2 * steps }
}

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

/** Keeps this many runs going for this long, and waits for the last ones. */
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

/** How long each of this many runs takes, one at a time, in milliseconds. */
export async function oneAtATime(run: () => Promise<unknown>, samples: number): Promise<number[]> {
  const took: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    const startMs = performance.now()
    await run()
    took.push(performance.now() - startMs)
    // So that the machine becomes idle, as it does between requests of a quiet service.
    await setTimeout(2)
  }
  return took
}
