/** Every way a store can fail, and whether trying again can help. */
const RETRYABLE = {
  /** The database is locked, overloaded, or gave up a deadlock or a serialization conflict. */
  busy: true,
  /**
   * Another transaction has locked some of what was sent, for longer than the store waits. Nothing
   * is done.
   */
  locked: true,
  /** The connection is gone, or the server is restarting. What was sent may or may not be done. */
  connection_lost: true,
  /** The database is read-only, or out of disk space or connections: an operator has to act. */
  unavailable: true,
  /** The schema is newer than this version of Holdfast. */
  newer_schema: false,
  /** The settings of the database would break a promise, or cannot be used. */
  misconfigured: false,
  /** What was read cannot be understood. */
  corrupt: false,
  /** What was sent cannot be stored. */
  rejected: false,
  /** The store was closed. */
  closed: false,
  /** Anything else; the driver's error is the cause. */
  unexpected: false,
} as const satisfies Record<string, boolean>

/** Why a store failed. */
export type StoreErrorCode = keyof typeof RETRYABLE

/** The only error a store throws. The driver's own error is kept in `cause`. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode

  constructor(code: StoreErrorCode, operation: string, message: string, options?: ErrorOptions) {
    super(`${operation}: ${message}`, options)
    this.code = code
  }

  /** Whether the same call may succeed later. */
  get retryable(): boolean {
    return RETRYABLE[this.code]
  }
}

/** Whether the store failed in a way that the same call may survive later. */
export function isRetryableStoreError(error: unknown): error is StoreError {
  return error instanceof StoreError && error.retryable
}

/** Whether the error is caused by what was sent, and nothing was done. */
export function isRejected(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'rejected'
}
