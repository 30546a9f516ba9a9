// A disk with no room left. Needs the right to mount a small one; skipped where it is missing.

import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Database } from '../../src/sqlite/database.ts'
import { isDiskFull } from '../../src/sqlite/sqlite-error.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { tempFile } from '../support/sqlite.ts'
import { groupOf, openUser } from './store-support.ts'
import { queueFileSettings } from './support.ts'

/** A disk of 3 MB, or `undefined`. */
function smallDisk() {
  const file = tempFile()
  const folder = join(file.folder, 'disk')
  mkdirSync(folder)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder])
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

test('on a full disk messages are still taken and acknowledged in the room that there is', async (context) => {
  using disk = smallDisk()
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

  await expect(user.push('x'.repeat(2_000_000))).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('full') as string,
  })
  let acked = 0
  for (;;) {
    const [record] = await user.take(1)
    if (record === undefined) break
    await user.change('ack', record)
    acked++
  }
  await user.store.close()
  database.close()

  expect(acked).toBe(200)
})

const thrown = (fields: object): Error => Object.assign(new Error('trouble'), fields)
const asStoreError = (cause: Error): StoreError =>
  new StoreError('unavailable', 'sqlite', 'trouble', { cause })

test.each([
  ['node:sqlite', { errcode: 13 }, { errcode: 10 }],
  ['better-sqlite3', { code: 'SQLITE_FULL' }, { code: 'SQLITE_IOERR_WRITE' }],
])('a full disk is told from other trouble with %s', (_, full, other) => {
  expect([thrown(full), asStoreError(thrown(full))].map(isDiskFull)).toEqual([true, true])
  expect([thrown(other), asStoreError(thrown(other)), undefined].map(isDiskFull)).toEqual([
    false,
    false,
    false,
  ])
})
