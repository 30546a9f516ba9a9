// Flow control: how many instances of a workflow run at once, for each customer, and which come first.
//
//   npm run build && npx tsx examples/14-flow-control/main.ts [file:exports.db]

import { open } from 'holdfast'
import { begun, exportFile, written } from './workflow.ts'

await using holdfast = await open(process.argv[2] ?? 'memory:', { register: exportFile })

async function start(customer: string, file: string, priority = 0): Promise<void> {
  await holdfast.start(exportFile, { customer, file }, { id: file, priority })
}

async function finish(file: string): Promise<void> {
  const instance = holdfast.get(exportFile, file)
  await instance.send(written, file)
  console.log(`${await instance.result()}: done`)
}

for (const file of ['acme-1', 'acme-2', 'acme-3', 'acme-4']) await start('acme', file)

// Another customer does not wait for them.
await start('tiny', 'tiny-1')
await finish('tiny-1')

const { status, waitingFor } = (await holdfast.get('acme-3').info())!
console.log(`acme-3: ${status}, waits for ${waitingFor.join(', ')}`)

// An urgent one comes before those that wait.
await start('acme', 'acme-urgent', 10)
for (const file of ['acme-1', 'acme-urgent', 'acme-2', 'acme-3', 'acme-4']) await finish(file)

const waited = begun.filter((file) => !['acme-1', 'acme-2', 'tiny-1'].includes(file))
console.log(`of those that waited, ${waited[0]} began first`)
