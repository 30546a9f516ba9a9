import { activity, stateKey, workflow } from 'holdfast'

interface Watch {
  readonly site: string
  readonly round: number
  readonly up: boolean
}

const ROUNDS = 4 // Some hundreds in real life; here you can see it start over.

/** A site that does not answer in its fourth and fifth round. */
export const probe = activity('probe', async ({ round }: Watch) => round < 4 || round > 5)

/** How often it went down. The workflow keeps it, and others can read it. */
export const outages = stateKey<number>('outages')

export const monitor = workflow('monitor', async (watch: Watch, ctx) => {
  for (let rounds = 0; rounds < ROUNDS; rounds++) {
    const up = await ctx.run(probe, watch)
    if (watch.up && !up) ctx.state.set(outages, (ctx.state.get(outages) ?? 0) + 1)
    ctx.progress(`round ${watch.round}: ${up ? 'up' : 'down'}`)
    watch = { ...watch, up, round: watch.round + 1 }
    await ctx.sleep('200ms')
  }
  return ctx.continueAsNew(watch)
})
