import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'
import type { OperationName } from './table.ts'

// What crosses between `thread.ts` and `thread-main.ts`. Requests are answered one by one, in the
// order they were sent.

/**
 * A request. `open` and `close` are about the file; `keepLease`, `dropLease`, `watch` and `unwatch`
 * control what the thread does by itself; the table has the rest.
 */
export interface Request {
  readonly number: number
  readonly operation: OperationName | 'open' | 'close' | Unasked
  readonly args: readonly unknown[]
  /** How far the asking store's clock is ahead of the machine's: 0 but in tests. */
  readonly clockOffsetMs: number
}

/** Requests that get no answer. */
export type Unasked = 'keepLease' | 'dropLease' | 'watch' | 'unwatch'

/**
 * The result of a request; or, without one, that another process has changed the file, or a warning
 * for users.
 */
export type Response =
  | { readonly changed: true }
  | { readonly warning: string }
  | { readonly number: number; readonly result: unknown }
  | { readonly number: number; readonly error: StoreErrorData }

/** A `StoreError` as data: a class does not cross between threads. */
export interface StoreErrorData extends ErrorData {
  readonly code: StoreErrorCode
  readonly cause: ErrorData | undefined
}

// Not left to structured cloning: errors of better-sqlite3 are no errors after it.
interface ErrorData {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: unknown
}

/** To send it out of the thread. */
export function storeErrorToData(error: StoreError): StoreErrorData {
  const { code, cause } = error
  return { ...toData(error), code, cause: cause instanceof Error ? toData(cause) : undefined }
}

/** Restores it on the other side. The stacks are those of the thread: they say what failed. */
export function storeErrorFromData(data: StoreErrorData): StoreError {
  const { code, message, stack, cause } = data
  const split = message.indexOf(': ')
  const options = cause === undefined ? undefined : { cause: fromData(cause) }
  const error = new StoreError(code, message.slice(0, split), message.slice(split + 2), options)
  if (stack !== undefined) error.stack = stack
  return error
}

function toData(error: Error & { readonly code?: unknown }): ErrorData {
  const { name, message, stack, code } = error
  return { name, message, stack, code: typeof code === 'string' ? code : undefined }
}

function fromData({ name, message, stack, code }: ErrorData): Error {
  const error = Object.assign(new Error(message), { name }, code === undefined ? {} : { code })
  if (stack !== undefined) error.stack = stack
  return error
}
