import { types } from 'node:util'
import { putTogether } from '../../base/codec/error-parts.ts'
import { failureClasses, ownClasses } from '../../base/errors.ts'

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

/**
 * Reverses `plainErrors`, as far as the classes are defined here; returns what is no such object
 * unchanged.
 */
export function errorOfPlain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || types.isNativeError(value)) return value
  const { name, message, ...rest } = value as Record<string, unknown>
  if (typeof name !== 'string' || typeof message !== 'string') return value
  const own = ownClasses.get(name)
  return putTogether(
    {
      ...rest,
      name,
      message,
      ...(failureClasses.has(name) && { failure: true }),
      ...(own !== undefined && { fields: rest }),
    },
    (inner) => (Array.isArray(inner) ? inner.map(errorOfPlain) : errorOfPlain(inner)),
  )
}
