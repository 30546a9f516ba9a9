import { dirname } from 'node:path'
import { moduleUrl } from '../../base/threads/module-url.ts'
import { requireWith } from '../../base/peer.ts'
import { StoreError } from '../../store/store-error.ts'

// The subset of an SQLite driver used here, implemented by both supported drivers. Both are
// synchronous; they run in a thread of their own (`thread-main.ts`), unless a queue is to have none.

/** What can be bound and read. Numbers are whole and safe. */
export type Value = string | number | Uint8Array | null

/** A prepared statement. Values are bound by position. */
export interface Statement {
  /** Runs a statement that returns no rows; returns how many it changed. */
  run(...values: Value[]): number
  /** All rows of a statement that returns some. */
  all(...values: Value[]): unknown[]
  /** The same as lists of values, in the order of the columns: for many rows, in half the time. */
  lists(...values: Value[]): (readonly unknown[])[]
  /** The first row, if any. */
  get(...values: Value[]): unknown
}

/** One that a driver has prepared. */
export interface DriverStatement extends Statement {
  /** Runs any statement: its rows, and how many it returned or changed. */
  query(...values: Value[]): QueryResult
}

/** What became of a statement that may or may not return rows. */
export interface QueryResult {
  readonly rows: unknown[]
  readonly rowCount: number
}

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

/** One connection. */
export interface Driver {
  /** What the driver made. */
  readonly connection: SqliteDatabase
  /** Runs SQL that returns nothing, also several statements. */
  exec(sql: string): void
  prepare(sql: string): DriverStatement
  /** The whole database, for `openImage`. Missing where the driver cannot do both. */
  image?(): Buffer
  close(): void
}

/** The drivers that can be used. */
export type DriverName = 'node:sqlite' | 'better-sqlite3'

/** The driver to use: the one named, or the first one that is there. */
export function chooseDriver(name: DriverName | undefined): DriverName {
  return name ?? (nodeSqlite() === undefined ? 'better-sqlite3' : 'node:sqlite')
}

/**
 * Opens a file, or `:memory:`, with the driver named, or with the first one that is there. For reading
 * only, the file must exist.
 */
export function openDriver(
  path: string,
  name: DriverName | undefined,
  access: Access = 'read-write',
): Driver {
  return chooseDriver(name) === 'node:sqlite'
    ? overNodeSqlite(connectNode(path, access))
    : overBetterSqlite(connectBetter(path, access))
}

/** Opens a copy in memory of a database, as `image` has returned it. It grows to 1 GiB at most. */
export function openImage(image: Buffer): Driver {
  return overBetterSqlite(connectBetter(image))
}

/** What a connection may do with the file. */
type Access = 'read-write' | 'read-only'

/** The same, as the driver has it: for users. */
export function openConnection(
  path: string,
  name: DriverName | undefined,
): NodeConnection | BetterConnection {
  return chooseDriver(name) === 'node:sqlite' ? connectNode(path) : connectBetter(path)
}

/** Describes the SQLite library of a driver: a process may have several with one name. */
export function libraryOf(name: DriverName | undefined): string {
  const chosen = chooseDriver(name)
  if (chosen === 'node:sqlite') return chosen
  const found = requireBetter()?.resolve('better-sqlite3/package.json')
  return found === undefined ? chosen : `${chosen} in ${dirname(found)}`
}

function requireBetter(): NodeJS.Require | undefined {
  return requireWith('better-sqlite3/package.json', moduleUrl(import.meta.url))
}

// Both types list only what is used here: @types/node 20 lacks node:sqlite, and node:sqlite works
// without better-sqlite3 installed.
interface NodeConnection {
  exec(sql: string): void
  prepare(sql: string): {
    run(...values: Value[]): { readonly changes: number | bigint }
    all(...values: Value[]): unknown[]
    get(...values: Value[]): unknown
    /** Since Node 22.16. */
    setReturnArrays?(wanted: boolean): void
  }
  close(): void
}

interface NodeSqlite {
  readonly DatabaseSync: new (path: string, options: { readOnly: boolean }) => NodeConnection
}

interface BetterConnection {
  exec(sql: string): unknown
  prepare(sql: string): {
    run(...values: Value[]): { readonly changes: number }
    all(...values: Value[]): unknown[]
    get(...values: Value[]): unknown
    raw(wanted: boolean): unknown
    /** Whether it returns rows. */
    readonly reader: boolean
  }
  serialize(): Buffer
  close(): unknown
}

type BetterSqlite = new (
  place: string | Buffer,
  options: { timeout: number; readonly: boolean },
) => BetterConnection

function nodeSqlite(): NodeSqlite | undefined {
  return process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined
}

function connectNode(path: string, access: Access = 'read-write'): NodeConnection {
  const builtin = nodeSqlite()
  if (builtin === undefined) throw missing(`Node ${process.version} has no node:sqlite`)
  return new builtin.DatabaseSync(path, { readOnly: access === 'read-only' })
}

function overNodeSqlite(connection: NodeConnection): Driver {
  return {
    connection,
    exec: (sql) => connection.exec(sql),
    prepare(sql) {
      const statement = connection.prepare(sql)
      return {
        run: (...values) => Number(statement.run(...values).changes),
        all: (...values) => statement.all(...values),
        lists(...values) {
          if (statement.setReturnArrays === undefined) {
            return (statement.all(...values) as object[]).map((row) => Object.values(row))
          }
          statement.setReturnArrays(true)
          try {
            return statement.all(...values) as unknown[][]
          } finally {
            statement.setReturnArrays(false)
          }
        },
        get: (...values) => statement.get(...values),
        query(...values) {
          // Those that return no rows are run as well, and only SQLite knows what they changed.
          const before = countChanges(connection, 'total_changes()')
          const rows = statement.all(...values)
          if (rows.length > 0) return { rows, rowCount: rows.length }
          const isChanged = countChanges(connection, 'total_changes()') !== before
          return { rows, rowCount: isChanged ? countChanges(connection, 'changes()') : 0 }
        },
      }
    },
    close: () => connection.close(),
  }
}

function countChanges(connection: NodeConnection, which: 'changes()' | 'total_changes()'): number {
  return Number((connection.prepare(`select ${which} as n`).get() as { n: number | bigint }).n)
}

function betterSqlite(): BetterSqlite {
  const require = requireBetter()
  if (require === undefined) {
    throw missing(`better-sqlite3 is not installed, and Node ${process.version} runs`)
  }
  const { version } = require('better-sqlite3/package.json') as { version: string }
  // Version 13 ends the whole process there with a segmentation fault.
  if (Number.parseInt(version) > 12 && Number.parseInt(process.versions.node) < 22) {
    throw missing(`better-sqlite3 ${version} does not work on Node ${process.version}`)
  }
  try {
    return require('better-sqlite3') as BetterSqlite
  } catch (cause) {
    throw missing(`better-sqlite3 ${version} cannot be loaded`, cause)
  }
}

function overBetterSqlite(connection: BetterConnection): Driver {
  return {
    connection,
    exec: (sql) => void connection.exec(sql),
    prepare(sql) {
      const statement = connection.prepare(sql)
      return {
        run: (...values) => statement.run(...values).changes,
        all: (...values) => statement.all(...values),
        lists(...values) {
          statement.raw(true)
          try {
            return statement.all(...values) as unknown[][]
          } finally {
            statement.raw(false)
          }
        },
        get: (...values) => statement.get(...values),
        query(...values) {
          if (!statement.reader) return { rows: [], rowCount: statement.run(...values).changes }
          const rows = statement.all(...values)
          return { rows, rowCount: rows.length }
        },
      }
    },
    image: () => connection.serialize(),
    close: () => void connection.close(),
  }
}

function connectBetter(place: string | Buffer, access: Access = 'read-write'): BetterConnection {
  const BetterSqlite = betterSqlite()
  try {
    // Waiting for other processes is done by `busy.ts`, not by the driver.
    return new BetterSqlite(place, { timeout: 0, readonly: access === 'read-only' })
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (typeof code === 'string' && code.startsWith('SQLITE_')) throw error
    // The part in C++ is loaded only now. It may be for another version of Node, or missing because
    // install scripts were off.
    throw missing('better-sqlite3 cannot be loaded, `npm rebuild better-sqlite3` may help', error)
  }
}

function missing(what: string, cause?: unknown): StoreError {
  return new StoreError(
    'misconfigured',
    'sqlite',
    `${what}; use Node 22.13 or later, or \`npm install better-sqlite3@12\``,
    { cause },
  )
}
