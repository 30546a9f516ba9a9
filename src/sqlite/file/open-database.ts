import { Database } from './database.ts'
import { openConnection, type Value } from '../connect/driver.ts'
import { claimLibrary } from '../connect/library-of-file.ts'
import { type SqliteOptions, sqliteSettings } from '../connect/options.ts'
import { warnOnce } from '../connect/wal-reset-bug.ts'

/**
 * A connection of your own, as the driver made it: a `DatabaseSync` of `node:sqlite`, or a `Database`
 * of `better-sqlite3`. This is what both have; cast it to use the rest.
 */
export interface SqliteDatabase {
  /** Runs SQL that returns nothing, also several statements. */
  exec(sql: string): unknown
  /** A statement; values are bound by position. */
  prepare(sql: string): {
    run(...values: Value[]): { readonly changes: number | bigint }
    get(...values: Value[]): unknown
    all(...values: Value[]): unknown[]
  }
  close(): unknown
}

/**
 * Opens a connection of your own to the file of a store, for your tables and for `client.in(tx)`.
 *
 * It is of the SQLite library that the store uses, which is what makes it safe in the same process;
 * give it the options that you give to `sqlite`. It waits for the disk as the store does, and up to
 * five seconds for others that write. A file that is missing is created as the store would do it.
 *
 * @example
 * const shop = openDatabase({ path: 'shop.db' })
 * shop.exec('begin immediate')
 * await holdfast.in(shop).start(fulfil, order)
 * shop.exec('commit')
 */
export function openDatabase(options: SqliteOptions): SqliteDatabase {
  const settings = sqliteSettings(options)
  const { path, durability, driver, busyMs } = settings
  if (path === ':memory:') {
    throw new TypeError('openDatabase: a database in memory is seen by its own connection only')
  }
  claimLibrary(settings)
  // Refuses what is no file of a store, and says why one cannot be opened.
  const database = new Database(settings)
  warnOnce(database.warning)
  database.close()
  const connection = openConnection(path, driver)
  const synchronous = durability === 'fsync' ? 'full' : 'normal'
  connection.exec(`
    pragma busy_timeout = ${busyMs};
    pragma synchronous = ${synchronous};
    pragma fullfsync = ${durability === 'fsync' ? 'on' : 'off'};
  `)
  return connection
}
