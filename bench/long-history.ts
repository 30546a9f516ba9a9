// What a step costs late in a long life, against early in one. One instance is led to its 20,000th
// event; from there on it takes turns with fresh ones, so that a busy machine slows both.

import { activity, workflow } from '../build/index.js'
import { median } from './figures.ts'
import { type Place, withRuntime } from './holdfast.ts'

/** Milliseconds that one step takes, at the median. */
export interface StepCost {
  readonly early: number
  readonly late: number
}

/** `events` is the length of the long history, `rounds` how often both are compared. */
export async function stepCost(
  place: Place,
  { events, rounds }: { readonly events: number; readonly rounds: number },
): Promise<StepCost> {
  const lateFrom = events / 2
  const late: number[] = []
  const early: number[] = []
  const stepsPerRound = 50
  // Two events a step: the window lies around event 100.
  const [earlyFrom, earlySteps] = [25, 75]
  let runFresh!: () => Promise<void>

  const lateBeat = activity(
    'late beat',
    beats(lateFrom, late, async (step) => {
      if (step >= lateFrom && (step - lateFrom) % stepsPerRound === 0) await runFresh()
    }),
  )
  const earlyBeat = activity('early beat', beats(earlyFrom, early))
  const long = workflow<number, void>('long', async (steps, ctx) => {
    for (let step = 0; step < steps; step++) await ctx.run(lateBeat, step)
  })
  const fresh = workflow<number, void>('fresh', async (steps, ctx) => {
    for (let step = 0; step < steps; step++) await ctx.run(earlyBeat, step)
  })

  return withRuntime(place.store(), [lateBeat, earlyBeat, long, fresh], async (runtime) => {
    runFresh = () => runtime.run(fresh, earlySteps)
    await runtime.run(long, lateFrom + rounds * stepsPerRound)
    return { early: median(early), late: median(late) }
  })
}

/** Code that notes the time from the end of one step to the beginning of the next, from `from` on. */
function beats(
  from: number,
  took: number[],
  between: (step: number) => Promise<void> = async () => {},
): (step: number) => Promise<void> {
  let lastMs = 0
  return async (step) => {
    if (step > from) took.push(performance.now() - lastMs)
    await between(step)
    lastMs = performance.now()
  }
}
