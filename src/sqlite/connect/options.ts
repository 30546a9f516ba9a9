import { describe } from '../../base/describe.ts'
import { oneOf, option, resolveOptions } from '../../base/options.ts'
import type { DriverName } from './driver.ts'

/** Where an SQLite store is, and how much it may lose. */
export interface SqliteOptions {
  /** The file; it is created if it is missing, but not its folder. `:memory:` keeps nothing. */
  readonly path: string
  /**
   * `fsync`: what was acknowledged survives power loss. `os`: it survives the end of the process,
   * at a tenth of the time per write.
   *
   * @default 'fsync'
   */
  readonly durability?: 'fsync' | 'os'
  /**
   * The driver to use.
   *
   * @default 'node:sqlite' where the runtime has it, else 'better-sqlite3'
   */
  readonly driver?: DriverName
}

/** The same, complete. Can be sent to the thread. */
export interface SqliteSettings {
  readonly path: string
  readonly durability: 'fsync' | 'os'
  readonly driver: DriverName | undefined
  /** How long an operation waits for other processes that write. */
  readonly busyMs: number
  /** What the file contains. */
  readonly holds: 'workflows' | 'queues'
}

/**
 * A write takes a few milliseconds, so an operation that waits this long waits for a stopped
 * process.
 */
const BUSY_MS = 5_000

/** Checks options and fills in the defaults. */
export function sqliteSettings(given: SqliteOptions): SqliteSettings {
  const { path, durability, driver } = resolveOptions('sqlite', given, {
    path: option(filePath, undefined),
    durability: oneOf(['fsync', 'os'], 'fsync'),
    driver: option(driverName, undefined),
  })
  if (path === undefined) throw new TypeError('sqlite: path is missing')
  return { path, durability, driver, busyMs: BUSY_MS, holds: 'workflows' }
}

function filePath(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && !value.includes('\0')) return value
  throw new TypeError(`${what} must be the path of a file, got ${describe(value)}`)
}

function driverName(value: unknown, what: string): DriverName {
  return oneOf(['node:sqlite', 'better-sqlite3'], 'node:sqlite').check(value, what)
}
