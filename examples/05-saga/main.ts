// A journey of three bookings. When one of them fails, or the traveller stays at home, the
// bookings are undone, the last first. On a file, stop it half-way and run it again: it continues,
// even in the middle of undoing.
//
//   npm run build && npx tsx examples/05-saga/main.ts [store URL]

import { CancelledError, open } from 'holdfast'
import { payments, SoldOut, travel } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: travel })

// Ada's journey fails by itself.
await holdfast.start(travel, 'Venice', { id: 'ada' })
await tell('ada')

// Ben's is cancelled from outside, once all is booked.
const ben = await holdfast.start(travel, 'Rome', { id: 'ben' })
for await (const { progress } of ben.watch()) {
  if (progress === 'waits for the money') break
}
await ben.cancel('he stays at home')
await tell('ben')

// Kim pays.
const kim = await holdfast.start(travel, 'Oslo', { id: 'kim' })
if ((await kim.info())?.status === 'running') {
  await kim.send(payments, { cents: 40_000 }, { dedupeKey: 'transfer-1' })
}
await tell('kim')

/** Waits for the end of a journey, whichever it is. */
async function tell(id: string): Promise<void> {
  try {
    console.log(`${id}: ${await holdfast.get(travel, id).result()}`)
  } catch (error) {
    if (error instanceof SoldOut) console.log(`${id}: failed, ${error.message}`)
    else if (error instanceof CancelledError) console.log(`${id}: cancelled, ${error.reason}`)
    else throw error
  }
}
