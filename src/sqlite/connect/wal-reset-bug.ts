import type { Driver } from './driver.ts'

// SQLite 3.7.0 to 3.51.2 can corrupt a file in WAL mode: when one connection writes at the moment in
// which another one moves pages out of the WAL, some of them may never reach the file. The two may be
// in different processes or threads, and a store has connections in several of its own. It is fixed
// in 3.51.3, and for older lines in 3.50.7 and 3.44.6. https://sqlite.org/wal.html#walresetbug

/** Lines of version 3 that have a fixed release, and the first one. All older lines have none. */
const FIXED: readonly (readonly [line: number, patch: number])[] = [
  [44, 6],
  [50, 7],
  [51, 3],
]

/** Whether this version of SQLite has the bug. */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, line = 0, patch = 0] = version.split('.').map(Number)
  if (major !== 3 || line > 51) return false
  const fixed = FIXED.find((release) => release[0] === line)
  return fixed === undefined || patch < fixed[1]
}

/** The warning about a driver's library, if it has the bug. */
export function walResetWarning(driver: Driver, path: string): string | undefined {
  if (path === ':memory:') return undefined
  const { version } = driver.prepare('select sqlite_version() as version').get() as {
    version: string
  }
  if (!hasWalResetBug(version)) return undefined
  return (
    `SQLite ${version} can corrupt ${path} when two connections or processes use it at the same time ` +
    '(https://sqlite.org/wal.html#walresetbug). Upgrade: Node 22.22.3, 24.15 and later have a fixed ' +
    'node:sqlite, better-sqlite3 12.8 and later a fixed SQLite'
  )
}

let isWarned = false

/** Warns once in a process, with `process.emitWarning`. */
export function warnOnce(warning: string | undefined): void {
  if (warning === undefined || isWarned) return
  isWarned = true
  process.emitWarning(warning, { type: 'HoldfastWarning', code: 'HOLDFAST_SQLITE_WAL_RESET' })
}
