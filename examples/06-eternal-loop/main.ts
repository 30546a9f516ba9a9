// A watch over a site that never ends. Every few rounds it continues as new, so that its history stays
// short however long it runs; state and progress come along.
//
//   npm run build && npx tsx examples/06-eternal-loop/main.ts [store URL]

import { CancelledError, open } from 'holdfast'
import { monitor, outages } from './workflow.ts'

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
