import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StoreError } from '../../store/store-error.ts'
import { chooseDriver, type DriverName, libraryOf, openDriver } from '../connect/driver.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { isBusy } from '../connect/sqlite-error.ts'
import type { Handle } from './within-handle.ts'

// POSIX locks belong to the process, so two SQLite libraries in one process do not see each
// other's: both write at the same time, each overwrites what the other has committed, and the first
// to close its last connection deletes the WAL that the other still writes to. Only connections of
// one library are safe, since a library also keeps its locks in memory.
//
// So a lock shows whether a handle is of the store's own library: the store's library locks a file,
// and the handle tries to attach it. If it is not locked out, it is of another library. The file is
// created for this purpose: closing a file drops the locks that the process has on it, and those on
// the database must stay.

/** Handles that have passed, and the driver whose library they are of. */
const passed = new WeakMap<Handle, DriverName>()

/** Refuses a handle that is not of the SQLite library that the store uses. */
export function checkLibrary(handle: Handle, settings: SqliteSettings): void {
  const driver = chooseDriver(settings.driver)
  if (passed.get(handle) === driver) return
  if (!isOfLibrary(handle, settings)) throw foreign(settings)
  passed.set(handle, driver)
}

function foreign({ path, driver }: SqliteSettings): StoreError {
  return new StoreError(
    'misconfigured',
    'in',
    `the handle uses a different SQLite library than the store, which uses ${libraryOf(driver)}. Two of ` +
      `them in one process do not see each other's locks on ${path} and destroy each other's commits. ` +
      `Open the handle with openDatabase() of holdfast/sqlite, or have the store use the handle's ` +
      `library: sqlite({ path, driver: 'node:sqlite' }) or sqlite({ path, driver: 'better-sqlite3' })`,
  )
}

function isOfLibrary(handle: Handle, { path, driver }: SqliteSettings): boolean {
  const folder = makeFolder(path)
  try {
    const file = join(folder, 'lock.db')
    const own = openDriver(file, driver)
    try {
      own.exec('begin exclusive')
      return isLockedOut(handle, file)
    } finally {
      own.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function makeFolder(path: string): string {
  const name = 'holdfast-lock-'
  try {
    return mkdtempSync(join(tmpdir(), name))
  } catch {
    // The folder of the database can be written to.
    return mkdtempSync(join(dirname(resolve(path)), name))
  }
}

function isLockedOut(handle: Handle, file: string): boolean {
  const row = handle.prepare('pragma busy_timeout').get() as { timeout: number | bigint }
  handle.exec('pragma busy_timeout = 0')
  try {
    handle.prepare('attach database ? as holdfast_lock').run(file)
  } catch (error) {
    if (isBusy(error)) return true
    throw new StoreError(
      'misconfigured',
      'in',
      "it cannot be found out whether the handle is of the store's SQLite library: attaching a file " +
        `to it fails with "${(error as Error).message}"`,
      { cause: error },
    )
  } finally {
    handle.exec(`pragma busy_timeout = ${row.timeout}`)
  }
  handle.exec('detach database holdfast_lock')
  return false
}
