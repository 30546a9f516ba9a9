import { types } from 'node:util'

// `JSON.stringify` drops the message and stack of an `Error`, so `history()` yields plain objects.

// Deeper than any recorded chain of causes.
const MAX_DEPTH = 32

/** Converts an error to a plain object with all its properties; returns any other value unchanged. */
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
