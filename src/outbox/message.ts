import type { StoredMessage } from '../store/outbox-store.ts'

/** A message, as handlers receive it. */
export interface Message<T> {
  /** Unique in this outbox, and the same in every attempt: use it to recognise a repetition. */
  readonly id: string
  readonly topic: string
  /** Empty if it was enqueued without a key. */
  readonly key: string
  /** The index of its partition within the topic. */
  readonly partition: number
  /** Its number within the partition: 1, 2, 3, … without gaps. */
  readonly seq: number
  readonly payload: T
  /** 1 for the first attempt. */
  readonly attempt: number
  readonly headers: Readonly<Record<string, string>>
  readonly enqueuedAt: Date
}

/** Makes a message from what was stored. Throws if the payload cannot be decoded. */
export function messageOf(
  stored: Omit<StoredMessage, 'position' | 'expiresAt'>,
  topic: string,
  partition: number,
  decode: (text: string) => unknown,
): Message<unknown> {
  return {
    id: String(stored.id),
    topic,
    key: stored.key ?? '',
    partition,
    seq: stored.seq,
    payload: decode(stored.payload),
    attempt: stored.failures + 1,
    headers: stored.headers === null ? {} : (JSON.parse(stored.headers) as Record<string, string>),
    enqueuedAt: new Date(stored.enqueuedAt),
  }
}
