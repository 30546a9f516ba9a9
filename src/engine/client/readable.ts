// What snapshots and lists show of stored values. One that this process cannot read, such as without the
// key, must not hide the others, nor what the row says in plain text.

import type { Values } from '../core/values.ts'

/** A stored value, or why it cannot be read. */
export interface ReadValue {
  readonly value?: unknown
  readonly problem?: Error
}

/** Decodes a value; `null` is `undefined`. Never throws. */
export function readValue(values: Values, text: string | null): ReadValue {
  if (text === null) return {}
  try {
    return { value: values.value(text) }
  } catch (error) {
    return { problem: unreadable(error) }
  }
}

/** Decodes an error, or returns why it cannot be read. Never throws. */
export function readError(values: Values, text: string): Error {
  try {
    return values.error(text)
  } catch (error) {
    return unreadable(error)
  }
}

function unreadable(cause: unknown): Error {
  const message = cause instanceof Error ? cause.message : String(cause)
  return Object.assign(new Error(message, { cause }), { name: 'UnreadableValue' })
}
