// Answers to requests: how they are written, and where they are waited for.

import type { Iid } from '../../store/instances.ts'
import type { Values } from './values.ts'

/**
 * Where the answer of an instance to a request is kept.
 *
 * The instance is part of it: an id that is used anew, or a fork that has the same past, never
 * answers for another one.
 */
export function replyAddress(iid: Iid, replyTo: string): string {
  return `${iid} ${replyTo}`
}

/** An answer, or the error it is refused with, as text; `encoded` is either of them, encoded. */
export function encodeReply(ok: boolean, encoded: string): string {
  return (ok ? '1' : '0') + encoded
}

/** Reads what `encodeReply` wrote: returns the answer, or throws the error. */
export function decodeReply(payload: string, values: Values): unknown {
  const encoded = payload.slice(1)
  if (payload.startsWith('1')) return values.value(encoded)
  throw values.error(encoded)
}
