import { statSync } from 'node:fs'
import { option, resolveOptions } from '../base/options.ts'
import { checkOutboxPrefix } from '../store/outbox-prefix.ts'
import type { SchemaStatus } from '../store/schema-status.ts'
import { type Driver, openDriver } from './connect/driver.ts'
import { claimLibrary } from './connect/library-of-file.ts'
import { type SqliteOptions, sqliteSettings } from './connect/options.ts'
import { toStoreError } from './connect/sqlite-error.ts'
import { untilFree } from './file/busy.ts'
import { openError } from './file/file-place.ts'
import { outboxMigrations } from './outbox/schema.ts'
import { migrationsOf } from './schema/migrate.ts'

/** Which file to look at: the options of `sqlite`. */
export interface SchemaStatusOptions extends SqliteOptions {
  /** The prefix of an outbox, to look at its tables instead. @default none */
  readonly outbox?: string | undefined
}

/** Compares a file with this version of Holdfast. It changes nothing, and creates no file. */
export async function schemaStatus(options: SchemaStatusOptions): Promise<SchemaStatus> {
  const { outbox: prefix, ...rest } = options
  const settings = sqliteSettings(rest)
  const { outbox } = resolveOptions(
    'schemaStatus',
    { outbox: prefix },
    {
      outbox: option(checkOutboxPrefix, undefined),
    },
  )
  const { path, driver: name, busyMs } = settings
  const what = outbox === undefined ? path : `outbox "${outbox}" in ${path}`
  const size = statSync(path, { throwIfNoEntry: false })?.size
  // A driver would create a file that is missing, and one that is empty is not yet a database.
  if (size === undefined || size === 0) {
    const detail = `${path} ${size === undefined ? 'does not exist' : 'is empty'}`
    return { state: 'missing', detail, missing: [] }
  }
  claimLibrary(settings)
  let driver: Driver | undefined
  try {
    driver = openDriver(path, name)
    const opened = driver
    const { applied, known } = untilFree('sqlite open', busyMs, () =>
      outbox === undefined
        ? migrationsOf(opened, settings)
        : outboxMigrations({ sql: (text) => opened.prepare(text) }, outbox),
    )
    return compare(what, applied, known)
  } catch (error) {
    const { retryable, code } = toStoreError('sqlite open', error)
    const failure = openError(path, error)
    // A damaged file is not one that another version could use.
    if (retryable || code === 'corrupt' || code === 'unexpected') throw failure
    return { state: 'refused', detail: failure.message, missing: [] }
  } finally {
    if (driver !== undefined) closeQuietly(driver)
  }
}

function compare(what: string, applied: number, known: number): SchemaStatus {
  if (applied > known) {
    const detail = `${what} has schema ${applied}, this version of Holdfast supports up to ${known}`
    return { state: 'refused', detail, missing: [] }
  }
  if (applied === known) {
    return { state: 'current', detail: `${what} is up to date (schema ${known})`, missing: [] }
  }
  const missing = Array.from({ length: known - applied }, (_, i) => `schema ${applied + i + 1}`)
  if (applied === 0) return { state: 'missing', detail: `${what} does not exist`, missing }
  return { state: 'behind', detail: `${what} has schema ${applied} of ${known}`, missing }
}

function closeQuietly(driver: Driver): void {
  try {
    driver.close()
  } catch {
    // What was asked is known.
  }
}
