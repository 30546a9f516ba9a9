import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { StoreError } from '../../store/store-error.ts'
import { isNotADatabase, isRefusedByPlace, toStoreError } from '../connect/sqlite-error.ts'

// Why a file cannot be opened. SQLite says no more than "unable to open database file". The file itself
// is never opened here: closing it would drop the locks that this process has on it.

/** Refuses a path at which there can be no database. */
export function checkPlace(path: string): void {
  if (path === ':memory:') return
  const folder = dirname(resolve(path))
  const found = look(folder)
  if (found === undefined) throw cannotOpen(path, `there is no folder ${folder}; create it first`)
  if (!found.isDirectory()) throw cannotOpen(path, `${folder} is a file, not a folder`)
  if (look(path)?.isDirectory()) throw cannotOpen(path, 'it is a folder, not a file')

  function look(place: string): ReturnType<typeof statSync> {
    try {
      return statSync(place, { throwIfNoEntry: false })
    } catch (cause) {
      throw cannotOpen(path, (cause as Error).message, cause)
    }
  }
}

/** The error for a file that SQLite could not open, with the reason. */
export function openError(path: string, thrown: unknown): StoreError {
  const error = toStoreError('sqlite open', thrown)
  if (path === ':memory:') return error
  if (isNotADatabase(thrown)) {
    return cannotOpen(path, 'it is not an SQLite database; name another file', error.cause)
  }
  if (error.code === 'corrupt') {
    const said = error.cause instanceof Error ? error.cause.message : error.message
    const why = `cannot open ${resolve(path)}, which is damaged: ${said}; restore a backup`
    return new StoreError('corrupt', 'sqlite open', why, { cause: error.cause })
  }
  if (!isRefusedByPlace(thrown)) return error
  const why = reasonFor(path)
  if (why !== undefined) return cannotOpen(path, why, error.cause)
  const { code, cause } = error
  const said = cause instanceof Error ? cause.message : error.message
  return new StoreError(code, 'sqlite open', `cannot open ${resolve(path)}: ${said}`, { cause })
}

function reasonFor(path: string): string | undefined {
  const folder = dirname(resolve(path))
  const user = process.getuid === undefined ? '' : ` (user id ${process.geteuid!()})`
  try {
    const name = join(folder, `.holdfast-${process.pid}-${Date.now()}`)
    closeSync(openSync(name, 'wx'))
    rmSync(name)
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === 'EMFILE' || code === 'ENFILE' || code === 'ENOSPC') return undefined
    return code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
      ? `this process${user} is not allowed to write to ${folder}, where SQLite keeps more files beside it (${code})`
      : message
  }
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 'it may be a broken symbolic link'
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    return `this process${user} is not allowed to read and write it (${(error as { code: string }).code})`
  }
  return undefined
}

function cannotOpen(path: string, why: string, cause?: unknown): StoreError {
  return new StoreError('misconfigured', 'sqlite open', `cannot open ${resolve(path)}: ${why}`, {
    cause,
  })
}
