import type { ChangeVerdict } from '../store/queue-store.ts'
import { messageOf } from './texts.ts'

/** Why an operation on a message failed. */
export type QueueErrorCode =
  /** There is no room, and the queue refuses instead of waiting. */
  | 'full'
  /** What is settled or extended is not in flight: it was settled, or its lease ended. */
  | 'not_in_flight'
  /** The record cannot be decoded. */
  | 'unreadable'
  /** There are no ids left: an id is a safe integer. */
  | 'ids_exhausted'

/** An error of the queue itself; trouble with its file is a `StoreError`. */
export class QueueError extends Error {
  override readonly name = 'QueueError'
  readonly code: QueueErrorCode
  /** The message that it is about, if it is about one. */
  readonly id: number | undefined

  constructor(code: QueueErrorCode, message: string, id?: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.id = id
  }
}

/** The error for a record that cannot be decoded. */
export function unreadable(id: number, cause: unknown): QueueError {
  const message = `queue: message ${id} cannot be decoded: ${messageOf(cause)}`
  return new QueueError('unreadable', message, id, { cause })
}

const WHY_NOT: Record<Exclude<ChangeVerdict, 'done'>, string> = {
  gone: 'it was acknowledged, removed, or has expired',
  superseded: 'its lease ended and it was delivered again',
  not_in_flight: 'it was nacked, or its lease ended',
}

/** The error for a delivery that is no longer in flight. */
export function notInFlight(
  operation: string,
  id: number,
  verdict: Exclude<ChangeVerdict, 'done'>,
): QueueError {
  const message = `queue ${operation}: message ${id} is no longer leased to you: ${WHY_NOT[verdict]}`
  return new QueueError('not_in_flight', message, id)
}
