import BetterSqlite from 'better-sqlite3'

// The two drivers of SQLite as users have them. `node:sqlite` is missing in older lines of Node, and
// the other one where it was built for another line.

/** What is used of both. */
export interface SqliteHandle {
  exec(text: string): unknown
  prepare(text: string): { all(): unknown[] }
  close(): unknown
}

/** Those that work here, by name. */
export const SQLITE_DRIVERS: readonly (readonly [
  name: string,
  open: (path: string) => SqliteHandle,
])[] = [...betterSqlite(), ...nodeSqlite()]

/** A handle on a file, by whichever driver there is. */
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
    { DatabaseSync: new (path: string) => SqliteHandle } | undefined
  return builtin === undefined ? [] : [['node:sqlite', (path) => new builtin.DatabaseSync(path)]]
}
