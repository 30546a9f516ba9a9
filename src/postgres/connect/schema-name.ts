import { describe } from '../../base/describe.ts'

// PostgreSQL truncates longer names, so two schemas could become one.
const MAX_BYTES = 63

/** Checks the name of a schema: any that PostgreSQL accepts. */
export function checkSchemaName(name: unknown, what: string): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw new TypeError(`${what} must be the name of a schema, got ${describe(name)}`)
  }
  if (Buffer.byteLength(name) > MAX_BYTES) {
    throw new RangeError(`${what} must not be longer than ${MAX_BYTES} bytes, got "${name}"`)
  }
  if (name.startsWith('pg_')) {
    throw new RangeError(`${what} must not start with "pg_", got "${name}"`)
  }
  if (name === '$user') {
    throw new RangeError(`${what} must not be "$user": for PostgreSQL that is the name of the role`)
  }
  return name
}

/** A name, quoted for SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
