import { types } from 'node:util'

// Of an error, `JSON.stringify` keeps next to nothing, and neither does a table in a terminal.

// Deeper than any chain of causes that is recorded.
const MAX_DEPTH = 32

/** An error as plain data, with all it carries; any other value as it is. */
export function plainErrors(value: unknown): unknown {
  return types.isNativeError(value) ? plain(value, 1) : value
}

function plain(error: Error, depth: number): Record<string, unknown> {
  const inner = (value: unknown): unknown => {
    if (!types.isNativeError(value)) return value
    return depth < MAX_DEPTH ? plain(value, depth + 1) : String(value)
  }
  const { name, message, stack, cause } = error
  const { errors } = error as { errors?: unknown }
  return {
    name,
    message,
    // Such as `code`, or the details of a failure.
    ...Object.fromEntries(Object.entries(error).map(([key, value]) => [key, inner(value)])),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && { cause: inner(cause) }),
    ...(Array.isArray(errors) && { errors: errors.map(inner) }),
  }
}
