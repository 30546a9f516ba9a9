// A local spool in front of a server that often fails. Readings are pushed into a queue on disk,
// which takes them at once; a handler sends them, as often as it takes. Stop it half-way and run it
// again: nothing is lost.
//
//   npm run build && npx tsx examples/queue-spool/main.ts [file]

import { startEndpoint } from './endpoint.ts'
import { openSpool } from './spool.ts'

const SENSORS = ['cellar', 'kitchen', 'hall', 'attic', 'garden', 'garage', 'roof', 'shed']

await using endpoint = await startEndpoint((key) => console.log(`  arrived: ${key}`))
await using spool = await openSpool(process.argv[2] ?? 'spool.db', endpoint.url)

for (const [i, sensor] of SENSORS.entries()) {
  // The key keeps a second run within five minutes from pushing them again.
  const id = await spool.push({ sensor, celsius: 15 + i }, { dedupeKey: sensor })
  console.log(`spooled ${sensor} as ${id}`)
}

await spool.drain({ timeout: '20s' })
for (const { data, reason } of await spool.dead.list()) {
  console.log(`given up: ${data.sensor}, ${reason}`)
}
console.log(`left to send: ${spool.counts.total - spool.counts.dead}`)
