// A disk with no room left. Needs the right to mount a small one; skipped where it is missing.

import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { openQueue, type Queue } from '../../src/queue/index.ts'
import { Database } from '../../src/sqlite/file/database.ts'
import { type Disk, allowanceFor } from '../../src/sqlite/queue/disk-room.ts'
import { isDiskFull } from '../../src/sqlite/connect/sqlite-error.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { tempFile } from '../support/sqlite.ts'
import { groupOf, openUser } from './store-support.ts'
import { queueFileSettings } from './support.ts'

/** A small disk, or `undefined`. */
function smallDisk(megabytes: number) {
  const file = tempFile()
  const folder = join(file.folder, 'disk')
  mkdirSync(folder)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
  if (mounted.status !== 0) {
    file[Symbol.dispose]()
    return undefined
  }
  return {
    folder,
    [Symbol.dispose](): void {
      // Lazily: a test that fails leaves its file open.
      spawnSync('umount', ['-l', folder])
      file[Symbol.dispose]()
    },
  }
}

/** Writes until there is no room. */
function fill(folder: string, piece: number): void {
  const bytes = new Uint8Array(piece)
  try {
    for (;;) appendFileSync(join(folder, 'filler'), bytes)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error
  }
}

test('on a disk that others have filled, messages are taken and acknowledged in the remaining space', async (context) => {
  using disk = smallDisk(3)
  if (disk === undefined) return context.skip('no right to mount a disk')
  const path = join(disk.folder, 'queue.db')
  const filling = new Database(queueFileSettings(path))
  const before = await openUser({ database: filling })
  await before.apply({ pushes: [groupOf(Array.from({ length: 200 }, () => 'x'.repeat(1_000)))] })
  await before.store.close()
  filling.close()
  const database = new Database(queueFileSettings(path))
  const user = await openUser({ database })
  // The WAL gets some room of its own before others take the rest.
  for (const record of await user.take(20)) await user.change('release', record)
  fill(disk.folder, 4_096)

  const refused = await user.apply({ pushes: [groupOf(['x'.repeat(2_000_000)])] })
  let acked = 0
  for (;;) {
    const [record] = await user.take(1)
    if (record === undefined) break
    await user.change('ack', record)
    acked++
  }
  await user.store.close()
  database.close()

  expect(refused.pushes).toMatchObject([{ state: 'no_disk' }])
  expect(acked).toBe(200)
})

test.for([
  [10, 'os'],
  [500, 'fsync'],
] as const)(
  'a disk that a queue has filled is emptied by taking, %d at a time, and filled again, with %s',
  { timeout: 120_000 },
  async ([max, durability], context) => {
    using disk = smallDisk(12)
    if (disk === undefined) return context.skip('no right to mount a disk')
    const path = join(disk.folder, 'queue.db')
    const queue = await openQueue<string>(path, { durability, log: silentLog })

    const rounds: { pushed: number; acked: number; error: unknown }[] = []
    for (let i = 0; i < 3; i++) {
      const { pushed, error } = await pushUntilRefused(queue)
      rounds.push({ pushed, acked: await ackAll(queue, max), error })
    }
    await queue.close()

    for (const { pushed, acked, error } of rounds) {
      expect(pushed).toBeGreaterThan(1_000)
      expect(acked).toBe(pushed)
      expect(error).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('the disk is almost full') as string,
      })
    }
  },
)

/** Pushes until there is no room. */
async function pushUntilRefused(queue: Queue<string>) {
  const items = Array.from({ length: 50 }, () => 'x'.repeat(1_000))
  for (let pushed = 0; ; pushed += items.length) {
    try {
      await queue.pushMany(items)
    } catch (error) {
      return { pushed, error }
    }
  }
}

/** Takes and acknowledges everything; returns how many there were. */
async function ackAll(queue: Queue<string>, max: number): Promise<number> {
  for (let acked = 0; ;) {
    const deliveries = await queue.takeMany(max)
    if (deliveries.length === 0) return acked
    await queue.ack(deliveries)
    acked += deliveries.length
  }
}

const MB = 1024 * 1024
const disk: Disk = { total: 1_000 * MB, free: 500 * MB, owed: 0, unused: 0, wal: 4 * MB }

test.each([
  ['there is enough room', {}, true, false],
  ['only what is kept for taking is left', { free: 8 * MB }, false, false],
  ['the file has room within', { free: 8 * MB, unused: 2 * MB }, true, false],
  ['the file has room within but has to grow', { free: 9 * MB, owed: MB, unused: MB }, false, true],
  ['the WAL has room for all', { free: 5 * MB, unused: 2 * MB, wal: 8 * MB }, true, false],
  ['a small disk is nearly full', { total: 8 * MB, free: MB }, false, false],
  ['a small disk has some room', { total: 8 * MB, free: 4 * MB }, true, false],
  ['the WAL holds much', { free: 100 * MB, owed: 92 * MB }, false, true],
])('of a batch of a megabyte: %s', (_, given, mayPush, mustEmptyWal) => {
  expect(allowanceFor({ ...disk, ...given }, MB)).toEqual({ mayPush, mustEmptyWal })
})

const thrown = (fields: object): Error => Object.assign(new Error('trouble'), fields)
const asStoreError = (cause: Error): StoreError =>
  new StoreError('unavailable', 'sqlite', 'trouble', { cause })

test.each([
  ['node:sqlite', { errcode: 13 }, { errcode: 10 }],
  ['better-sqlite3', { code: 'SQLITE_FULL' }, { code: 'SQLITE_IOERR_WRITE' }],
])('a full disk is distinguished from other errors with %s', (_, full, other) => {
  expect([thrown(full), asStoreError(thrown(full))].map(isDiskFull)).toEqual([true, true])
  expect([thrown(other), asStoreError(thrown(other)), undefined].map(isDiskFull)).toEqual([
    false,
    false,
    false,
  ])
})
