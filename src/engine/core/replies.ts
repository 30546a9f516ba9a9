// Replies to requests: how they are stored, and where their senders look for them.

import { isWrapped, unreadable } from '../../base/codec/transform.ts'
import type { Iid } from '../../store/instances.ts'
import type { Values } from './values.ts'

/**
 * The address under which the reply of an instance is stored.
 *
 * It contains the instance's number, so that a later instance with the same id, or a fork with the same
 * history, never replies in its place.
 */
export function replyAddress(iid: Iid, replyTo: string): string {
  return `${iid} ${replyTo}`
}

/** Writes a reply, or the error that rejects the request; `encoded` is either of them, encoded. */
export function encodeReply(ok: boolean, encoded: string): string {
  return (ok ? '1' : '0') + encoded
}

/** Reads what `encodeReply` wrote: returns the reply, or throws the error. */
export function decodeReply(payload: string, values: Values): unknown {
  if (isWrapped(payload)) throw unreadable(payload)
  const encoded = payload.slice(1)
  if (payload.startsWith('1')) return values.value(encoded)
  throw values.error(encoded)
}
