// A process that runs nothing: `sender-child.ts <store as JSON> <id>…` sends each instance a message,
// waits for its end before the next, and says how many milliseconds all that took.

import { connect, type Store } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { mail } from './reader.ts'

const [place, ...ids] = process.argv.slice(2) as [string, ...string[]]
const options = JSON.parse(place) as { path: string } | { url: string; schema: string }
const store: Store = 'path' in options ? sqlite(options) : postgres(options)

await using client = connect(store)
const begunMs = performance.now()
for (const id of ids) {
  const instance = client.get(id)
  await instance.send(mail, id)
  const result = await instance.result()
  if (result !== id) throw new Error(`instance "${id}" ended with ${String(result)}`)
}
process.stdout.write(`${performance.now() - begunMs}`)
