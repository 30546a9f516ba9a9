// A process that pushes more than there is room for: `producer <path> <count>`. Nothing but its pushes
// keeps it alive.

import { openQueue } from '../../../src/queue/index.ts'
import { say } from './say.ts'

const CAPACITY = 5

async function main(path: string, count: number): Promise<void> {
  const queue = await openQueue<number>(path, { capacity: CAPACITY, durability: 'os' })
  for (let i = 0; i < count; i++) {
    await queue.push(i)
    if (i === CAPACITY - 1) say('full')
  }
  say('done')
  await queue.close()
}

// Not awaited at the top, where Node would complain that nothing is left to wait for.
const [path, count] = process.argv.slice(2) as [string, string]
void main(path, Number(count))
