import { describe } from '../base/describe.ts'

/** The prefix of the tables of an outbox, unless another is chosen. */
export const DEFAULT_OUTBOX_PREFIX = 'outbox'

// Names of tables and functions have at most 63 bytes. Lower case, as PostgreSQL ignores case and SQLite
// does too.
const PREFIX = /^[a-z][a-z0-9_]{0,35}$/

/** Checks the prefix of the tables of an outbox; it becomes part of SQL. */
export function checkOutboxPrefix(value: unknown, what: string): string {
  if (typeof value === 'string' && PREFIX.test(value)) return value
  throw new TypeError(
    `${what} must be 1 to 36 lower-case letters, digits or underscores and begin with a letter, ` +
      `got ${describe(value)}`,
  )
}
