import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'

/** What SQLite's primary result codes mean to us. Those left out are `unexpected`. */
const CODES: Readonly<Record<string, readonly [number: number, code: StoreErrorCode]>> = {
  PERM: [3, 'unavailable'],
  BUSY: [5, 'busy'],
  LOCKED: [6, 'busy'],
  NOMEM: [7, 'unavailable'],
  READONLY: [8, 'unavailable'],
  IOERR: [10, 'unavailable'],
  CORRUPT: [11, 'corrupt'],
  FULL: [13, 'unavailable'],
  CANTOPEN: [14, 'unavailable'],
  PROTOCOL: [15, 'busy'],
  TOOBIG: [18, 'rejected'],
  CONSTRAINT: [19, 'rejected'],
  MISMATCH: [20, 'rejected'],
  NOTADB: [26, 'misconfigured'],
}

const FULL = CODES['FULL']![0]

const NOTADB = CODES['NOTADB']![0]

const PLACE = ['PERM', 'READONLY', 'CANTOPEN']

const BY_NUMBER = new Map(Object.values(CODES))

/**
 * The error of a driver as a `StoreError`. One that already is a `StoreError` is returned as it is.
 */
export function toStoreError(operation: string, thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new StoreError(codeOf(thrown), operation, message, { cause: thrown })
}

/** Whether another connection holds a lock, so that trying again soon may help. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown) === 'busy'
}

/** Whether there is no room left on the disk. */
export function isDiskFull(thrown: unknown): boolean {
  const error = thrown instanceof StoreError ? thrown.cause : thrown
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown }
  return typeof errcode === 'number' ? (errcode & 0xff) === FULL : code === 'SQLITE_FULL'
}

/** Whether a file is not a database. */
export function isNotADatabase(thrown: unknown): boolean {
  const error = thrown instanceof StoreError ? thrown.cause : thrown
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown }
  return typeof errcode === 'number' ? (errcode & 0xff) === NOTADB : code === 'SQLITE_NOTADB'
}

/**
 * Whether SQLite could not open or write a file: for lack of rights, or because something else is
 * there.
 */
export function isRefusedByPlace(thrown: unknown): boolean {
  const error = thrown instanceof StoreError ? thrown.cause : thrown
  const { errcode, code } = (error ?? {}) as { errcode?: unknown; code?: unknown }
  if (typeof errcode === 'number') return PLACE.some((name) => CODES[name]![0] === (errcode & 0xff))
  return typeof code === 'string' && PLACE.some((name) => code.startsWith(`SQLITE_${name}`))
}

function codeOf(thrown: unknown): StoreErrorCode {
  if (!(thrown instanceof Error)) return 'unexpected'
  if (thrown instanceof StoreError) return thrown.code
  // node:sqlite gives the extended number, better-sqlite3 the extended name.
  const { errcode, code } = thrown as { errcode?: unknown; code?: unknown }
  if (typeof errcode === 'number') return BY_NUMBER.get(errcode & 0xff) ?? 'unexpected'
  const name = typeof code === 'string' ? /^SQLITE_([A-Z]+)/.exec(code)?.[1] : undefined
  return (name === undefined ? undefined : CODES[name]?.[1]) ?? 'unexpected'
}
