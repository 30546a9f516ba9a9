import { copyFileSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { Database, type Transaction } from './database.ts'
import { openDriver } from '../connect/driver.ts'

function setting(database: Database, name: string): unknown {
  const row = database.sql(`pragma ${name}`).get() as Record<string, unknown>
  return Object.values(row)[0]
}

const next = (tx: Transaction): unknown => ({
  ...(tx.sql('select next_iid from store').get() as {}),
})

test('writes with `fsync` survive power loss: WAL, full sync, also on macOS', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path, { durability: 'fsync' }))

  expect(setting(database, 'journal_mode')).toBe('wal')
  expect(setting(database, 'synchronous')).toBe(2)
  expect(setting(database, 'fullfsync')).toBe(1)
  expect(setting(database, 'checkpoint_fullfsync')).toBe(1)
  expect(setting(database, 'wal_autocheckpoint')).toBe(0)
  database.close()
})

test('writes with `os` are synced at checkpoints only', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path, { durability: 'os' }))

  expect(setting(database, 'journal_mode')).toBe('wal')
  expect(setting(database, 'synchronous')).toBe(1)
  expect(setting(database, 'fullfsync')).toBe(0)
  expect(setting(database, 'checkpoint_fullfsync')).toBe(1)
  database.close()
})

test('a transaction whose work throws leaves nothing behind', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path))
  const before = database.read('test', 0, next)

  expect(() =>
    database.write('test', 0, (tx) => {
      tx.sql('update store set next_iid = 99').run()
      tx.sql('insert into runtimes (state, lease_until, info) values (?, 0, ?)').run('ill', '')
    }),
  ).toThrow(expect.objectContaining({ code: 'rejected' }))

  expect(database.read('test', 0, next)).toEqual(before)
  database.close()
})

test('a write that finds the file locked for too long fails with busy, and can be repeated', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path, { busyMs: 30 }))
  const other = openDriver(file.path, undefined)
  other.exec('begin immediate')

  expect(() => database.write('sqlite commit', 0, next)).toThrow(
    expect.objectContaining({
      code: 'busy',
      retryable: true,
      message: expect.stringMatching(
        /^sqlite commit: another process holds the lock on the file, waited \d+ ms$/,
      ),
    }),
  )
  expect(database.read('sqlite load', 0, next)).toEqual({ next_iid: 1 })
  other.exec('rollback')

  expect(database.write('sqlite commit', 0, next)).toEqual({ next_iid: 1 })
  other.close()
  database.close()
})

test('a file that is up to date is opened and read while another process holds its lock', () => {
  using file = tempFile()
  const settings = settingsFor(file.path, { busyMs: 10 })
  const writer = new Database(settings)
  writer.sql('begin immediate').run()

  const reader = new Database(settings)

  expect(reader.read('read', 0, next)).toEqual({ next_iid: expect.any(Number) })
  writer.sql('rollback').run()
  reader.close()
  writer.close()
})

test('a read is one snapshot, whatever is written meanwhile', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path))
  const other = new Database(settingsFor(file.path))

  const [before, after] = database.read('test', 0, (tx) => {
    const seen = next(tx)
    other.write('test', 0, (own) => own.sql('update store set next_iid = 50').run())
    return [seen, next(tx)]
  })

  expect(after).toEqual(before)
  expect(database.read('test', 0, next)).toEqual({ next_iid: 50 })
  other.close()
  database.close()
})

test('the clock is read once a transaction, and can be moved', () => {
  const database = new Database(settingsFor(':memory:'))
  const start = Date.now()

  const [first, second] = database.write('test', 60_000, (tx) => [tx.now, tx.now] as const)

  expect(first).toBe(second)
  expect(first - start).toBeGreaterThanOrEqual(60_000)
  database.close()
})

test('a write that need not last is not synced; the next one that must last syncs both', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path, { durability: 'fsync' }))
  const count = (durable: boolean): unknown =>
    database.write(
      'test',
      0,
      () => {
        const mode = setting(database, 'synchronous')
        database.sql('update store set next_iid = next_iid + 1').run()
        return mode
      },
      durable,
    )

  expect([count(true), count(false), count(false), count(true)]).toEqual([2, 1, 1, 2])
  database.close()
})

test('a WAL has space ahead of what it needs, and its content before that is found again', () => {
  using file = tempFile()
  using copy = tempFile()
  const database = new Database(settingsFor(file.path, { durability: 'fsync' }))
  const count = (): void => {
    database.write('test', 0, (tx) => tx.sql('update store set next_iid = next_iid + 1').run())
    database.tidy()
  }
  const size = (): number => statSync(`${file.path}-wal`).size
  count()
  count()
  const before = size()

  count()
  const now = database.read('test', 0, next)

  // It goes over what is there.
  expect(size()).toBe(before)
  expect(before).toBeGreaterThan(256 * 1024)
  // As after a crash: the room is still there, and nothing but zeros.
  copyFileSync(file.path, copy.path)
  copyFileSync(`${file.path}-wal`, `${copy.path}-wal`)
  const reopened = new Database(settingsFor(copy.path))
  expect(reopened.read('test', 0, next)).toEqual(now)
  expect(reopened.sql('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
  reopened.close()
  database.close()
})

test('a write that need not last makes no room', () => {
  using file = tempFile()
  const database = new Database(settingsFor(file.path, { durability: 'os' }))
  const size = (): number => statSync(`${file.path}-wal`).size
  const before = size()

  for (let i = 0; i < 5; i++) {
    database.write('test', 0, (tx) => tx.sql('update store set next_iid = next_iid + 1').run())
    database.tidy()
  }

  // A page or two for each.
  expect(size() - before).toBeLessThan(64 * 1024)
  database.close()
})
