// Which users may read the files of a queue.

import { chmodSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openQueue } from '../../src/queue/index.ts'
import { modesIn, tempFile } from '../support/sqlite.ts'

/** Windows has no modes. */
const withModes = { skip: process.platform === 'win32' }

test('the files of a queue are for its owner alone', withModes, async () => {
  using file = tempFile()
  await using queue = await openQueue<string>(file.path)
  await queue.push('secret')

  expect(modesIn(file.folder)).toEqual({
    'test.db': '600',
    'test.db-wal': '600',
    'test.db-shm': '600',
    'test.db-user-1': '600',
  })
})

test('a file that is there keeps its mode, which the others get', withModes, async () => {
  using file = tempFile()
  writeFileSync(file.path, '')
  chmodSync(file.path, 0o664)
  await using queue = await openQueue<string>(file.path)
  await queue.push('shared')

  expect(modesIn(file.folder)).toEqual({
    'test.db': '664',
    'test.db-wal': '664',
    'test.db-shm': '664',
    'test.db-user-1': '664',
  })
})
