import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { StoreError } from '../../store/store-error.ts'
import { libraryOf } from './driver.ts'
import type { SqliteSettings } from './options.ts'

// Two SQLite libraries must not use one file in one process (see `same-library.ts`), so the first
// one that opens a file is recorded until the process ends: connections that users opened may still
// be open. The record is shared with other copies of this package, which may load another copy of
// better-sqlite3. Removed files are forgotten, since a process may use any number of files.

const KEY = Symbol.for('holdfast.sqlite.libraries')

/** From this many files on, removed ones are forgotten. */
const MANY = 1_000
let sweepAt = MANY

/**
 * Records the library that is about to open a file. Throws when the process uses another one for
 * it.
 */
export function claimLibrary({ path, driver }: Pick<SqliteSettings, 'path' | 'driver'>): void {
  if (path === ':memory:') return
  const place = placeOf(path)
  const library = libraryOf(driver)
  const known = libraries()
  const first = known.get(place) ?? library
  known.set(place, first)
  if (known.size >= sweepAt) forgetRemoved(known)
  if (first === library) return
  throw new StoreError(
    'misconfigured',
    'sqlite open',
    `this process has opened ${place} with ${first} already, and cannot also open it with ${library}: ` +
      "two SQLite libraries in one process destroy each other's commits. Pass the same driver to every " +
      'sqlite() and openDatabase() for this file',
  )
}

/** Not of the newer half: those may not have been made yet. */
function forgetRemoved(known: Map<string, string>): void {
  const older = [...known.keys()].slice(0, known.size >> 1)
  for (const place of older) if (!existsSync(place)) known.delete(place)
  sweepAt = Math.max(MANY, 2 * known.size)
}

function libraries(): Map<string, string> {
  const shared = globalThis as { [KEY]?: Map<string, string> }
  return (shared[KEY] ??= new Map())
}

/** The file itself, whatever links lead to it; it need not be there yet. */
function placeOf(path: string): string {
  const whole = resolve(path)
  for (const attempt of [
    () => realpathSync(whole),
    () => join(realpathSync(dirname(whole)), basename(whole)),
  ]) {
    try {
      return attempt()
    } catch {
      // Not there.
    }
  }
  return whole
}
