import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openDriver } from './connect/driver.ts'
import { openDatabase } from './file/open-database.ts'
import { schemaStatus } from './schema-status.ts'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'holdfast-status-')), 'shop.db')
})
afterEach(() => rmSync(join(path, '..'), { recursive: true, force: true }))

test('a file that does not exist is missing, and is not created', async () => {
  expect(await schemaStatus({ path })).toMatchObject({ state: 'missing' })
  expect(existsSync(path)).toBe(false)
})

test('a file that was opened is current, and its outbox is missing', async () => {
  openDatabase({ path }).close()

  expect(await schemaStatus({ path })).toMatchObject({ state: 'current', missing: [] })
  expect(await schemaStatus({ path, outbox: 'outbox' })).toMatchObject({ state: 'missing' })
})

test('an older file is behind, a newer one is refused', async () => {
  openDatabase({ path }).close()
  const set = (version: string): void => {
    const driver = openDriver(path, undefined)
    driver.exec(`pragma user_version = ${version}`)
    driver.close()
  }

  set('3')
  const older = await schemaStatus({ path })
  set('9999')
  const newer = await schemaStatus({ path })

  expect(older).toMatchObject({ state: 'behind', missing: expect.arrayContaining(['schema 4']) })
  expect(newer).toMatchObject({ state: 'refused', detail: expect.stringContaining('9999') })
})

test('a database of another application is refused, and is left as it is', async () => {
  const driver = openDriver(path, undefined)
  driver.exec('create table theirs (a)')
  driver.close()
  const before = readFileSync(path)

  expect(await schemaStatus({ path })).toMatchObject({ state: 'refused' })
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file that is no database is an error', async () => {
  writeFileSync(path, 'no database, but long enough to be looked at'.repeat(100))

  await expect(schemaStatus({ path })).resolves.toMatchObject({ state: 'refused' })
})

test('an empty file is missing, and said to be empty', async () => {
  writeFileSync(path, '')

  await expect(schemaStatus({ path })).resolves.toEqual({
    state: 'missing',
    detail: `${path} is empty`,
    missing: [],
  })
})

test('a damaged file is an error that names it', async () => {
  openDatabase({ path }).close()
  truncateSync(path, 40_960)

  await expect(schemaStatus({ path })).rejects.toMatchObject({
    code: 'corrupt',
    message: expect.stringContaining(`${path}, which is damaged`) as string,
  })
})

test('a folder that is not writable is named', async () => {
  openDatabase({ path }).close()
  chmodSync(join(path, '..'), 0o555)
  // Root may write anywhere.
  const isRoot = process.geteuid!() === 0
  if (isRoot) chownSync(path, 65_534, 65_534)
  if (isRoot) process.seteuid!(65_534)

  const refusal: unknown = await schemaStatus({ path }).catch((error: unknown) => error)

  if (isRoot) process.seteuid!(0)
  chmodSync(join(path, '..'), 0o755)
  expect(String(refusal)).toContain(`cannot open ${path}: this process`)
})

test('options are checked', async () => {
  await expect(schemaStatus({ path, outbox: 'no space' })).rejects.toThrow('schemaStatus: outbox')
})
