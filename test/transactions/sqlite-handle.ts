import BetterSqlite from 'better-sqlite3'
import type { DriverName } from '../../src/sqlite/index.ts'

// The two drivers of SQLite as users have them. `node:sqlite` is missing in older lines of Node, and
// the other one where it was built for another line.

/** What is used of both. */
export interface SqliteHandle {
  exec(text: string): unknown
  prepare(text: string): { all(): unknown[] }
  close(): unknown
}

/** Those that work here, by name. The first is the default of a store. */
export const SQLITE_DRIVERS: readonly (readonly [
  name: DriverName,
  open: (path: string) => SqliteHandle,
])[] = [...nodeSqlite(), ...betterSqlite()]

/** A handle on a file, by the driver that a store uses for it. */
export function openHandle(path: string): SqliteHandle {
  return SQLITE_DRIVERS[0]![1](path)
}

function openBetter(path: string): SqliteHandle {
  return new BetterSqlite(path)
}

function betterSqlite(): typeof SQLITE_DRIVERS {
  try {
    openBetter(':memory:').close()
    return [['better-sqlite3', openBetter]]
  } catch {
    return []
  }
}

function nodeSqlite(): typeof SQLITE_DRIVERS {
  const builtin = process.getBuiltinModule('node:sqlite') as
    | { DatabaseSync: new (path: string) => SqliteHandle }
    | undefined
  return builtin === undefined ? [] : [['node:sqlite', (path) => new builtin.DatabaseSync(path)]]
}
