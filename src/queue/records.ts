import type { QueueRecord } from '../store/queue-store.ts'
import { fromPayload, type QueueCodec } from './payloads.ts'
import type { Stored } from './queue.ts'
import { unreadable } from './queue-error.ts'

/** A record as it is shown: one that cannot be decoded has an error in place of its data. */
export function toStored<T>(codec: QueueCodec<T>, record: QueueRecord): Stored<T> {
  const { id, attempt, reason } = record
  const pushedAt = new Date(record.pushedAt)
  const shown = { id, attempt, pushedAt, ...(reason !== '' && { reason }) }
  try {
    return { ...shown, data: fromPayload(codec, record) }
  } catch (cause) {
    const error = unreadable(id, cause)
    return {
      ...shown,
      error,
      get data(): T {
        throw error
      },
    }
  }
}
