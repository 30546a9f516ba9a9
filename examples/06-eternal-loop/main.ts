// A watch over a site that never ends. Every few rounds it continues as new, so that its history stays
// short however long it runs; state and progress come along.
//
//   npm run build && npx tsx examples/06-eternal-loop/main.ts [store URL]

import { activity, CancelledError, open, stateKey, workflow } from 'holdfast'

interface Watch {
  readonly site: string
  readonly round: number
  readonly up: boolean
}

const ROUNDS = 4 // Some hundreds in real life; here you can see it start over.

/** A site that does not answer in its fourth and fifth round. */
const probe = activity('probe', async ({ round }: Watch) => round < 4 || round > 5)

/** How often it went down. The workflow keeps it, and others can read it. */
const outages = stateKey<number>('outages')

const monitor = workflow('monitor', async (watch: Watch, ctx) => {
  for (let rounds = 0; rounds < ROUNDS; rounds++) {
    const up = await ctx.run(probe, watch)
    if (watch.up && !up) ctx.state.set(outages, (ctx.state.get(outages) ?? 0) + 1)
    ctx.progress(`round ${watch.round}: ${up ? 'up' : 'down'}`)
    watch = { ...watch, up, round: watch.round + 1 }
    await ctx.sleep('200ms')
  }
  return ctx.continueAsNew(watch)
})

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: monitor })
const first = { site: 'example.com', round: 1, up: true }
const instance = await holdfast.start(monitor, first, { id: first.site })

for await (const { status, execution, progress } of instance.watch()) {
  console.log(`${status}, execution ${execution},`, progress ?? 'no round yet')
  if (execution >= 3) await instance.cancel('seen enough')
}

let events = 0
for await (const _ of instance.history()) events++
console.log(`outages: ${await instance.readState(outages)}`)
console.log(`events in the history of the last execution: ${events}`)
try {
  await instance.result()
} catch (error) {
  if (!(error instanceof CancelledError)) throw error
  console.log(`ended: ${error.reason}`)
}
