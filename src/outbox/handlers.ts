import type { Duration } from '../base/time/duration.ts'
import type { HandlerQueries } from '../store/outbox-store.ts'
import type { Message } from './message.ts'

/** The second argument of a handler. */
export interface HandlerContext {
  /** Aborts when the time for the message is over, the partition was lost, or the outbox stops. */
  readonly signal: AbortSignal
  /**
   * Grows each time the partition changes hands. Pass it to systems that can reject requests of an
   * earlier owner.
   */
  readonly fence: bigint
  /**
   * Ends this attempt: the message is tried again, after this time or after the backoff. It counts as a
   * failed attempt, towards `maxAttempts`, too.
   */
  retry(after?: Duration): never
  /** Ends this attempt: the message becomes a dead letter. */
  reject(reason: string): never
}

/** The second argument of a transactional handler. */
export interface TransactionalContext extends HandlerContext {
  /**
   * What is written through `tx` is committed together with the message, or not at all. On PostgreSQL
   * `outbox.in(tx)` enqueues in the same transaction; on SQLite that is not possible.
   */
  readonly tx: HandlerQueries
}

/** The second argument of a batch handler. */
export interface BatchContext<T> {
  /** Aborts when the time for the batch is over, the partition was lost, or the outbox stops. */
  readonly signal: AbortSignal
  /** See `HandlerContext.fence`. */
  readonly fence: bigint
  /** The message is delivered. */
  ack(message: Message<T>): void
  /** The message is tried again, after this time or after the backoff. That counts as a failed attempt. */
  retry(message: Message<T>, after?: Duration): void
  /** The message becomes a dead letter. */
  reject(message: Message<T>, reason: string): void
}

/** A handler, with the kind that decides how it is called. */
export type Handler =
  | {
      readonly kind: 'single'
      readonly run: (message: Message<unknown>, ctx: HandlerContext) => Promise<void>
    }
  | {
      readonly kind: 'transactional'
      readonly run: (message: Message<unknown>, ctx: TransactionalContext) => Promise<void>
    }
  | {
      readonly kind: 'batch'
      readonly run: (
        messages: readonly Message<unknown>[],
        ctx: BatchContext<unknown>,
      ) => Promise<void>
    }

/** What to do with a message that keeps failing. */
export type WhenStuck = 'block' | 'park' | 'skip'

/** Options of a handler. */
export interface HandleOptions {
  /** How many partitions of the topic are delivered at the same time in this process. @default 4 */
  concurrency?: number
  /** The most messages of a partition that are read at once. @default as the profile says */
  batchSize?: number
  /**
   * How often a message is tried until it counts as stuck. The death of a process that delivered it
   * counts as an attempt. A batch that fails as a whole is never the last attempt: batches become smaller until
   * the message to blame is alone.
   *
   * Only with `whenStuck: 'park'` does it become a dead letter then. With `block` and `skip` it is tried
   * again all the same, and an error is logged for each further failure.
   *
   * @default 25
   */
  maxAttempts?: number
  /**
   * What happens to a message that fails. `park`: its partition waits until the last attempt; then the
   * message becomes a dead letter and the partition goes on. `block`: the partition waits for it,
   * however often it fails. `skip`: only messages with the same key wait for it; the others go on.
   *
   * With `block` and `skip` a message that keeps failing never becomes a dead letter: only one that is
   * rejected, by `ctx.reject` or a failure that is not retryable, or that cannot be decoded.
   *
   * @default 'park'
   */
  whenStuck?: WhenStuck
  /** How long a handler may take for a message, or for a batch, before its signal aborts. @default '30s' */
  lease?: Duration
  /** How long to wait before a message is tried again: doubled each time. @default as the profile says */
  retry?: {
    /** The first wait. */
    delay?: Duration
    /** The longest wait. */
    maxDelay?: Duration
  }
  /** A set of defaults. @default that of the outbox */
  profile?: 'default' | 'low-latency' | 'high-throughput' | 'relaxed'
}
