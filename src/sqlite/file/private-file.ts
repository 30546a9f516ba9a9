import { randomUUID } from 'node:crypto'
import { chmodSync, closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

// Creates files that only their owner can read. SQLite creates them readable for all users, unless
// the umask forbids it; the files that it keeps beside a database get the mode of the database.
//
//   - An existing file keeps its mode: it may be shared with a group on purpose.
//   - No file that may be open elsewhere in the process is opened here, since closing it would drop
//     the locks that this process has on it: the file is created under another name and linked into
//     place.

const OWNER_ONLY = 0o600

/**
 * Opens a file with SQLite. If it is missing, it is created first, for its owner alone or, with
 * `like`, with the mode of another file.
 */
export function openPrivately<T>(path: string, open: () => T, like?: string): T {
  if (path === ':memory:' || existsSync(path)) return open()
  const mode = like === undefined ? OWNER_ONLY : modeOf(like)
  make(path, mode)
  // A broken link, or a file system without links: then SQLite creates the file.
  const isMade = existsSync(path)
  const opened = open()
  if (!isMade) changeMode(path, mode)
  return opened
}

function make(path: string, mode: number): void {
  const made = join(dirname(resolve(path)), `.holdfast-${randomUUID()}`)
  try {
    closeSync(openSync(made, 'wx', OWNER_ONLY))
    changeMode(made, mode)
    linkSync(made, path)
  } catch {
    // Another process was faster, or the file system does not support this; SQLite reports what is
    // wrong.
  } finally {
    rmSync(made, { force: true })
  }
}

function changeMode(path: string, mode: number): void {
  try {
    chmodSync(path, mode)
  } catch {
    // Not every file system has modes.
  }
}

function modeOf(path: string): number {
  try {
    return statSync(path).mode & 0o666
  } catch {
    return OWNER_ONLY
  }
}
