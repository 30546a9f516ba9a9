// How durable single pushes are, among others of other levels.

import { describe, expect, test } from 'vitest'
import { Database } from '../../src/sqlite/file/database.ts'
import { sqliteSettings } from '../../src/sqlite/connect/options.ts'
import type { Durability } from '../../src/queue/index.ts'
import { tempFile } from '../support/sqlite.ts'
import { queueInTime } from './support.ts'

/** What SQLite calls a commit that waits for the disk, and one that does not. */
const SYNCED = 2
const UNSYNCED = 1

/** A queue in a file, with how each of its batches was committed. */
async function observed(durability: Durability) {
  const file = tempFile()
  const settings = sqliteSettings({ path: file.path, durability: 'fsync' })
  const database = new Database({ ...settings, holds: 'queues' })
  const under = await queueInTime<string>({ database, durability })
  const commits: number[] = []
  under.trouble.afterApply = () => {
    const row = database.sql('pragma synchronous').get() as { synchronous: number }
    commits.push(row.synchronous)
  }
  return {
    ...under,
    commits,
    async [Symbol.asyncDispose]() {
      await under.queue.close()
      database.close()
      file[Symbol.dispose]()
    },
  }
}

describe('a push', () => {
  test('is as durable as its queue, unless it asks for more or less', async () => {
    await using strict = await observed('fsync')
    await using lenient = await observed('os')

    for (const { queue } of [strict, lenient]) {
      await queue.push('as the queue')
      await queue.push('more', { durability: 'fsync' })
      await queue.push('less', { durability: 'os' })
      await queue.pushMany(['more', 'more'], { durability: 'fsync' })
      await queue.pushMany(['less', 'less'], { durability: 'os' })
    }

    expect(strict.commits).toEqual([SYNCED, SYNCED, UNSYNCED, SYNCED, UNSYNCED])
    expect(lenient.commits).toEqual([UNSYNCED, SYNCED, UNSYNCED, SYNCED, UNSYNCED])
  })

  test.each([
    ['first', ['fsync', 'os', 'os']],
    ['in the middle', ['os', 'fsync', 'os']],
    ['last', ['os', 'os', 'fsync']],
  ] as const)('that asks for more and comes %s is not weakened by others', async (_, levels) => {
    await using under = await observed('os')

    await Promise.all(levels.map((durability) => under.queue.push('x', { durability })))

    expect(under.commits).toEqual([SYNCED])
    expect(under.queue.counts.ready).toBe(3)
  })

  test('that asks for less does not weaken an acknowledgement beside it', async () => {
    await using under = await observed('fsync')
    const { queue } = under
    await queue.push('a')
    const delivery = await queue.take()
    under.commits.length = 0

    await Promise.all([delivery!.ack(), queue.push('b', { durability: 'os' })])

    expect(under.commits).toEqual([SYNCED])
  })

  test('that asks for more does not make later acknowledgements more durable', async () => {
    await using under = await observed('os')
    const { queue } = under
    await queue.push('a', { durability: 'fsync' })
    const delivery = await queue.take()
    under.commits.length = 0

    await delivery!.ack()

    expect(under.commits).toEqual([UNSYNCED])
  })

  test.each(['disk', 'memory'])('of the unknown level %j is refused', async (durability) => {
    await using under = await observed('os')

    await expect(under.queue.push('x', { durability: durability as 'os' })).rejects.toThrow(
      `queue push: durability must be one of 'fsync', 'os', got "${durability}"`,
    )
    expect(under.queue.counts.total).toBe(0)
  })
})
