import { randomUUID } from 'node:crypto'
import { chmodSync, closeSync, existsSync, linkSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

// Files are made for their owner alone. SQLite makes them for everybody to read, as far as the umask
// lets it; the files that it keeps beside a database have the mode of that.
//
//   - A file that is there keeps its mode: somebody may want to share it with a group.
//   - No file that others may have open is opened here, since closing it would drop the locks that
//     this process has on it: it is made under another name and linked into its place.

const OWNER_ONLY = 0o600

/**
 * Opens a file by way of SQLite. Where there is none it is made first, for its owner alone or, with
 * `like`, with the mode of another file.
 */
export function openPrivately<T>(path: string, open: () => T, like?: string): T {
  if (path === ':memory:' || existsSync(path)) return open()
  const mode = like === undefined ? OWNER_ONLY : modeOf(like)
  make(path, mode)
  // A link to nowhere, or a file system without links: then SQLite makes the file.
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
    // Somebody was faster, or it cannot be done this way; what is wrong is said by SQLite.
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
