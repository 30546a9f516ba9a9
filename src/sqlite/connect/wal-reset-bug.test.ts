import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { settingsFor } from '../../../test/support/sqlite.ts'
import { type Driver, openDriver } from './driver.ts'
import { SqliteThread } from '../thread/thread.ts'
import { hasWalResetBug, walResetWarning } from './wal-reset-bug.ts'

test.each([
  ['3.43.2', true],
  ['3.44.5', true],
  ['3.44.6', false],
  ['3.45.1', true],
  ['3.46.0', true],
  ['3.49.2', true],
  ['3.50.4', true],
  ['3.50.7', false],
  ['3.51.2', true],
  ['3.51.3', false],
  ['3.51.10', false],
  ['3.52.0', false],
  ['3.53.2', false],
  ['4.0.0', false],
])('whether SQLite %s can corrupt a file: %s', (version, has) => {
  expect(hasWalResetBug(version)).toBe(has)
})

test('the library that the tests run with is fixed', () => {
  const driver = openDriver(':memory:', undefined)

  expect(walResetWarning(driver, 'shop.db')).toBeUndefined()
  driver.close()
})

test('the warning names the version, the file and the way out', () => {
  const old = { prepare: () => ({ get: () => ({ version: '3.50.4' }) }) } as unknown as Driver

  expect(walResetWarning(old, 'shop.db')).toMatch(
    /^SQLite 3\.50\.4 can corrupt shop\.db .*walresetbug.* Node 22\.22\.3, 24\.15 .* better-sqlite3 12\.8 /,
  )
  expect(walResetWarning(old, ':memory:')).toBeUndefined()
})

test('a warning of a thread is logged once by the process', async () => {
  const script = `
    const { parentPort } = require('node:worker_threads')
    parentPort.on('message', ({ number }) => {
      parentPort.postMessage({ warning: 'SQLite is too old' })
      parentPort.postMessage({ number })
    })
  `
  const workers: Worker[] = []
  const start = (): Worker => {
    const worker = new Worker(script, { eval: true })
    workers.push(worker)
    return worker
  }
  const thread = () => new SqliteThread(settingsFor('a.db'), start)
  const warnings: Error[] = []
  process.on('warning', (warning) => warnings.push(warning))
  const [one, other] = [thread(), thread()]

  await one.open()
  await other.open()

  expect(warnings).toMatchObject([
    { name: 'HoldfastWarning', code: 'HOLDFAST_SQLITE_WAL_RESET', message: 'SQLite is too old' },
  ])
  await Promise.all(workers.map((worker) => worker.terminate()))
})
