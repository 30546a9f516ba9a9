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

/** What can be said of a message when it is pushed. */
export interface PushOptions {
  /** Messages of one key are delivered one after the other, in the order they were pushed. */
  key?: string
  /**
   * Another push under this key, within the queue's `dedupeWindow`, stores nothing and answers the
   * ids of the first.
   */
  dedupeKey?: string
  /** Nobody gets it before this has passed. @default 0 */
  delay?: Duration
  /** Higher ones are delivered first; a whole number. @default 0 */
  priority?: number
  /** After this it is removed, unless somebody has it. By default it stays until acknowledged. */
  ttl?: Duration
  /** When this push resolves, whatever the others do. @default that of the queue */
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
  /** Why the latest attempt came to nothing, if there was one. */
  readonly reason?: string
  /** Why it cannot be read, if it cannot. */
  readonly error?: QueueError
}

/** A message that is yours until its lease ends. */
export interface Delivery<T> extends Stored<T> {
  /**
   * Done: removes the message for good. Doing it twice is fine; when the lease ended and somebody
   * else has the message by now, it is an error.
   */
  ack(): Promise<void>
  /**
   * Not done: it is delivered again, before later ones. `reason` is kept until the next attempt fails.
   * An error when it is not in flight any more.
   */
  nack(options?: { delay?: Duration; reason?: string }): Promise<void>
  /** Makes the lease so much longer. An error when it is not in flight any more. */
  extend(by: Duration): Promise<void>
}

/** What `consume` is told. */
export interface ConsumeOptions {
  /** So many deliveries may be out, neither acknowledged nor nacked. @default no limit */
  concurrency?: number
  /**
   * So many messages are taken ahead, with the one that is asked for, up to 999. Raise it to take many
   * at once; nobody else gets them meanwhile, and their leases run. The first time that one of them is
   * taken ahead when its process ends, no attempt counts, unless there is only one. @default 0
   */
  prefetch?: number
  /** Ends the loop when it aborts. */
  signal?: AbortSignal
}

/** What a handler is given beside the delivery. */
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
  /** Wait for their time, or for an earlier message of their key. */
  readonly delayed: number
  /** Failed too often, or unreadable. */
  readonly dead: number
}

/** A dead letter, and why it is one. */
export type DeadLetter<T> = Stored<T> & { readonly reason: string }

/** Messages that failed too often, or cannot be read. */
export interface DeadLetters<T> {
  /** In the order of ids. `after` is the last id of the page before. @default 100 of them */
  list(page?: { limit?: number; after?: number }): Promise<readonly DeadLetter<T>[]>
  /** Puts them back, with all their attempts; answers how many were dead letters. */
  retry(ids: readonly number[]): Promise<number>
  /** Removes them for good; answers how many were dead letters. */
  discard(ids: readonly number[]): Promise<number>
}

/**
 * A queue that survives the end of the process. Iterating it reads what is not acknowledged, dead
 * letters too, in the order of ids, and changes nothing; what cannot be read is an item with an
 * `error`.
 */
export interface Queue<T> extends AsyncDisposable, AsyncIterable<Stored<T>> {
  /** Stores a message; answers its id when it is as durable as was asked for. */
  push(data: T, options?: PushOptions): Promise<number>
  /** Stores all of them, or none; the options hold for each. Their ids follow each other. */
  pushMany(items: readonly T[], options?: PushOptions): Promise<readonly number[]>
  /** A message that is not acknowledged, whoever has it. */
  get(id: number): Promise<Stored<T> | undefined>
  /** The next message. Waits for one up to `timeout`; without a timeout: what is there now. */
  take(options?: Wait): Promise<Delivery<T> | undefined>
  /** The next messages, as soon as there is one; at most 1,000. Waits as `take` does. */
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
  /** Removes messages, whatever their state; answers how many were there. For tools. */
  remove(ids: readonly number[]): Promise<number>
  /** How many messages there are, as of the latest answer of the store. */
  readonly counts: Counts
  /** Whether there is no message at all. */
  readonly isEmpty: boolean
  readonly dead: DeadLetters<T>
  /** Waits until every message is acknowledged or a dead letter. */
  drain(options?: Wait): Promise<void>
  /**
   * Stops handlers, as disposing them does, waits for what was asked for, gives back what is in
   * flight, and closes.
   */
  close(): Promise<void>
}
