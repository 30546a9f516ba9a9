import type { Duration } from '../base/time/duration.ts'
import type { NotifierHealth } from '../store/hints.ts'
import type { Health } from '../workers/worker.ts'
import type { DeadLetters } from './dead-letters.ts'
import type { EnqueueItem, EnqueueOptions } from './enqueue.ts'
import type {
  BatchContext,
  HandlerContext,
  HandleOptions,
  TransactionalContext,
} from './handlers.ts'
import type { Message } from './message.ts'
import type { Topic } from './topic.ts'

/** Enqueues messages in a transaction of yours: they are delivered once you commit it. */
export interface OutboxInTransaction {
  /** Enqueues a message. A duplicate has the id of the first message with the same `dedupeKey`. */
  enqueue<In>(
    topic: Topic<In, unknown>,
    payload: NoInfer<In>,
    options?: EnqueueOptions,
  ): Promise<{ readonly id: string; readonly duplicate: boolean }>
  /** Enqueues messages in one statement, all of them or none. Returns their ids, in order. */
  enqueueMany<In>(
    topic: Topic<In, unknown>,
    messages: readonly EnqueueItem<NoInfer<In>>[],
  ): Promise<readonly string[]>
}

/** How full one partition is. */
export interface OutboxStats {
  readonly topic: string
  /** The index of the partition. */
  readonly partition: number
  /** Messages that are not delivered yet, whatever they wait for. */
  readonly depth: number
  /** For how long the oldest of them has been there, without those that are delayed; 0 for none. */
  readonly oldestMs: number
  /** How many messages have come due, also behind an open transaction: a number of messages, not a time. */
  readonly lag: number
}

/** What this process has delivered since `start`. */
export interface OutboxTotals {
  readonly delivered: number
  /** Attempts that failed and are repeated. */
  readonly retried: number
  /** Messages that became dead letters. */
  readonly dead: number
  /** Messages that were dropped because their `ttl` was over. */
  readonly expired: number
}

/** The state of an outbox. */
export interface OutboxHealth {
  /** `new`: `start` was not called. */
  readonly state: 'new' | 'running' | 'stopped'
  readonly workers: readonly Health[]
  /** How notifications of other processes arrive. */
  readonly notifications: NotifierHealth
  readonly totals: OutboxTotals
}

/** Messages that are written in your transactions, and delivered afterwards. */
export interface Outbox extends AsyncDisposable {
  /**
   * The outbox inside a transaction of your own, as for `client.in`. On PostgreSQL a commit with a
   * notification waits for others like it; with `notify: false`, messages are found within ten seconds.
   * PostgreSQL cannot prepare a transaction that notifies: before `PREPARE TRANSACTION`, use `notify: false`.
   */
  in(tx: unknown, options?: { notify?: boolean }): OutboxInTransaction
  /** Handles a topic, one message at a time. Each message is delivered at least once. */
  handle<Out>(
    topic: Topic<never, Out>,
    run: (message: Message<Out>, ctx: HandlerContext) => Promise<void>,
    options?: HandleOptions,
  ): void
  /**
   * Handles a topic in transactions of the same database: what the handler writes through `ctx.tx` is
   * committed together with the message, exactly once. A message has 30 seconds, which no option
   * changes, and a store runs four such transactions at once, whatever `concurrency` says; on SQLite, one.
   */
  handleTransactional<Out>(
    topic: Topic<never, Out>,
    run: (message: Message<Out>, ctx: TransactionalContext) => Promise<void>,
    options?: Omit<HandleOptions, 'lease'>,
  ): void
  /**
   * Handles a topic in batches of one partition each. A handler that returns without having decided about
   * any message has handled all of them; one that decides about some has to decide about each.
   */
  handleBatch<Out>(
    topic: Topic<never, Out>,
    run: (messages: readonly Message<Out>[], ctx: BatchContext<Out>) => Promise<void>,
    options?: HandleOptions,
  ): void
  /** Creates the tables if they do not exist, and begins to deliver to the handlers. */
  start(): Promise<void>
  /** Messages that are not delivered any more. */
  readonly deadLetters: DeadLetters
  /** How full the partitions of the topics are that this process has used; with `all`, of all topics. */
  stats(options?: { all?: boolean }): Promise<readonly OutboxStats[]>
  /** The state of the workers of this process, and what they have delivered. */
  health(): OutboxHealth
  /**
   * Resolves when all messages of the handled topics are delivered or dead, except delayed ones. Starts
   * the outbox if `start` was not called.
   */
  drain(options?: { timeout?: Duration; signal?: AbortSignal }): Promise<void>
  /**
   * Ends the deliveries of this process. Handlers may finish the message that they work on; after four
   * fifths of the time their signal aborts. Messages that are not delivered stay in the database.
   */
  stop(options?: { within?: Duration }): Promise<void>
}
