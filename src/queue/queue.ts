import type { Duration } from '../base/time/duration.ts'
import type { QueueError } from './queue-error.ts'

/** How long to wait. */
export interface Wait {
  /** How long, at most. */
  timeout?: Duration
  /** Rejects with its reason when it aborts. */
  signal?: AbortSignal
}

/**
 * When something counts as done. `fsync`: when it survives power loss. `os`: when it survives the end
 * of the process.
 */
export type Durability = 'fsync' | 'os'

/** Options of a push. */
export interface PushOptions {
  /** Messages of one key are delivered one after the other, in the order they were pushed. */
  key?: string
  /**
   * Another push with this key within the queue's `dedupeWindow` stores nothing and returns the ids
   * of the first.
   */
  dedupeKey?: string
  /** How long the message stays invisible. @default 0 */
  delay?: Duration
  /** Higher ones are delivered first; a whole number. @default 0 */
  priority?: number
  /** After this the message is removed, unless it is in flight. By default it stays until acknowledged. */
  ttl?: Duration
  /** When this push resolves. @default the durability of the queue */
  durability?: Durability
}

/** A message that is not acknowledged. */
export interface Stored<T> {
  /** Grows with every push; never used again. */
  readonly id: number
  /** What was pushed. Throws `error`, if there is one. */
  readonly data: T
  /** How often it was delivered. */
  readonly attempt: number
  readonly pushedAt: Date
  /** Why the latest attempt failed, if there was one. */
  readonly reason?: string
  /** Why it cannot be read, if it cannot. */
  readonly error?: QueueError
}

/** A message that is leased to you. */
export interface Delivery<T> extends Stored<T> {
  /**
   * Removes the message. Calling it twice is fine; it fails when the lease has ended and the message
   * was delivered again.
   */
  ack(): Promise<void>
  /**
   * Returns the message: it is delivered again, before later ones. `reason` is kept until the next
   * attempt fails. It fails when the message is no longer in flight.
   */
  nack(options?: { delay?: Duration; reason?: string }): Promise<void>
  /** Extends the lease. It fails when the message is no longer in flight. */
  extend(by: Duration): Promise<void>
}

/** Options of `consume`. */
export interface ConsumeOptions {
  /** The maximum number of deliveries that are neither acknowledged nor nacked. @default no limit */
  concurrency?: number
  /**
   * How many messages to take in advance, up to 999. A higher value takes more at once; meanwhile no
   * other consumer gets them, and their leases run. When the process ends, the first attempt of a
   * prefetched message does not count, unless it is the only one. @default 0
   */
  prefetch?: number
  /** Ends the loop when it aborts. */
  signal?: AbortSignal
}

/** The second argument of a handler. */
export interface HandleContext {
  /** Aborts when the lease is lost, or when a stop has waited long enough. */
  readonly signal: AbortSignal
}

/** How many messages there are. */
export interface Counts {
  /** All of them. */
  readonly total: number
  /** Can be taken now. */
  readonly ready: number
  /** Delivered, neither acknowledged nor nacked. */
  readonly inFlight: number
  /** Delayed, or behind an earlier message with the same key. */
  readonly delayed: number
  /** Failed too often, or unreadable. */
  readonly dead: number
}

/** A dead letter, and the reason. */
export type DeadLetter<T> = Stored<T> & { readonly reason: string }

/** Messages that failed too often, or cannot be decoded. */
export interface DeadLetters<T> {
  /** In the order of ids. `after` is the last id of the page before. @default 100 of them */
  list(page?: { limit?: number; after?: number }): Promise<readonly DeadLetter<T>[]>
  /** Puts them back with their attempts reset; returns how many were dead letters. */
  retry(ids: readonly number[]): Promise<number>
  /** Removes them; returns how many were dead letters. */
  discard(ids: readonly number[]): Promise<number>
}

/**
 * A queue that survives the end of the process. Iterating it reads what is not acknowledged, dead
 * letters too, in the order of ids, and changes nothing; what cannot be read is an item with an
 * `error`.
 */
export interface Queue<T> extends AsyncDisposable, AsyncIterable<Stored<T>> {
  /** Stores a message; resolves with its id once it is as durable as requested. */
  push(data: T, options?: PushOptions): Promise<number>
  /** Stores all of them or none; the options apply to each. Their ids are consecutive. */
  pushMany(items: readonly T[], options?: PushOptions): Promise<readonly number[]>
  /** A message that is not acknowledged, in whatever state. */
  get(id: number): Promise<Stored<T> | undefined>
  /** Takes the next message. Waits up to `timeout` for one; without a timeout it does not wait. */
  take(options?: Wait): Promise<Delivery<T> | undefined>
  /** Takes the next messages, at most 1,000, as soon as there is one. Waits as `take` does. */
  takeMany(max: number, options?: Wait): Promise<readonly Delivery<T>[]>
  /** Acknowledges all of them in one commit. */
  ack(deliveries: readonly Delivery<T>[]): Promise<void>
  /** Deliveries as they come, until the loop is left, the signal aborts or the queue is closed. */
  consume(options?: ConsumeOptions): AsyncIterable<Delivery<T>>
  /**
   * Calls `run` with each message: acknowledges it when `run` returns, nacks it and writes a warning
   * to the log when it throws, unless `run` did either itself, and keeps its lease while it runs.
   * Disposing it waits for those that run: up to 30 seconds, for the last 6 of which their signal is
   * aborted.
   */
  handle(
    run: (delivery: Delivery<T>, ctx: HandleContext) => Promise<unknown>,
    options?: { concurrency?: number },
  ): AsyncDisposable
  /** Removes messages in any state; returns how many existed. For tools. */
  remove(ids: readonly number[]): Promise<number>
  /** The number of messages, as of the latest answer of the store. */
  readonly counts: Counts
  /** Whether there is no message at all. */
  readonly isEmpty: boolean
  readonly dead: DeadLetters<T>
  /** Waits until every message is acknowledged or a dead letter. */
  drain(options?: Wait): Promise<void>
  /**
   * Stops handlers, as disposing them does, waits for pending calls, returns messages in flight to
   * the queue, and closes.
   */
  close(): Promise<void>
}
