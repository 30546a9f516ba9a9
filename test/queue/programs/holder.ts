// A process that takes a message for an hour and stays until it is killed: `holder <path>`.

import { openQueue } from '../../../src/queue/index.ts'
import { say } from './say.ts'

async function main(path: string): Promise<void> {
  const queue = await openQueue<string>(path, { lease: '1h' })
  const delivery = await queue.take()
  say(`has ${delivery!.data}`)
  // Only a kill ends it.
  await queue.take({ timeout: '1h' })
}

const [path] = process.argv.slice(2) as [string]
void main(path)
