import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'

import { tempFile } from '../../../test/support/sqlite.ts'
import { WalFile } from './wal-file.ts'

test('a file shows whether it is longer than that, even after it grew and was cut', () => {
  using file = tempFile()
  const { path } = file
  const wal = new WalFile(path)
  expect([wal.size(), wal.isLongerThan(0)]).toEqual([0, false])

  writeFileSync(path, Buffer.alloc(100))
  expect([wal.size(), wal.isLongerThan(99), wal.isLongerThan(100)]).toEqual([100, true, false])

  expect(wal.lengthen(1_000)).toBe(1_000)
  expect([wal.size(), wal.isLongerThan(1_099), wal.isLongerThan(1_100)]).toEqual([
    1_100,
    true,
    false,
  ])

  truncateSync(path, 10)
  expect([wal.size(), wal.isLongerThan(9), wal.isLongerThan(10)]).toEqual([10, true, false])
  wal.close()
})

test('a file shows that it was deleted, even if there is another with its name', () => {
  using file = tempFile()
  const { path } = file
  writeFileSync(path, 'one')
  const wal = new WalFile(path)
  expect(wal.isDeleted()).toBe(false)

  rmSync(path)
  expect(wal.isDeleted()).toBe(true)
  writeFileSync(path, 'another')
  expect(wal.isDeleted()).toBe(true)
  wal.close()

  rmSync(path)
  expect(new WalFile(path).isDeleted()).toBe(true)
})

test('a database in memory has none', () => {
  const wal = new WalFile(undefined)

  expect([wal.size(), wal.isLongerThan(0), wal.lengthen(10)]).toEqual([0, false, 0])
  expect(wal.isDeleted()).toBe(false)
  wal.close()
})
