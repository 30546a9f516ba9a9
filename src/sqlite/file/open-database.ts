import { Database } from './database.ts'
import { openConnection, type SqliteDatabase } from '../connect/driver.ts'
import { claimLibrary } from '../connect/library-of-file.ts'
import { type SqliteOptions, sqliteSettings } from '../connect/options.ts'
import { warnOnce } from '../connect/wal-reset-bug.ts'

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
    throw new TypeError('openDatabase: a database in memory can be used by its own connection only')
  }
  claimLibrary(settings)
  // Refuses a file that is not a store's, and says why one cannot be opened.
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
