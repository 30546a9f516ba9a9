import type { OutboxStore } from '../../store/outbox-store.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'

/** The tables of an outbox, by the names behind the prefix. */
export type OutboxTable =
  | 'topics'
  | 'partitions'
  | 'messages'
  | 'delayed'
  | 'keys'
  | 'waiting'
  | 'dead_letters'

/** A workflow store and an outbox in its database, both open. */
export interface OutboxConnection {
  readonly store: WorkflowStore
  /** The one whose tables begin with `outbox`. */
  readonly outbox: OutboxStore
}

/** A transaction of a user, which has begun. */
export interface OpenUserTransaction {
  /** What `within` takes. */
  readonly tx: unknown
  readonly commit: () => Promise<void>
  readonly rollback: () => Promise<void>
}

/**
 * A fresh outbox, and the knobs that the author of its store gives to the contract suite. Disposing ends all
 * connections and removes the data.
 */
export interface OutboxUnderTest extends OutboxConnection, AsyncDisposable {
  /** Another connection to the same data, as a second process would have it. */
  another(): Promise<OutboxConnection>
  /** Another outbox in the same database, open. */
  openOutbox(prefix: string): Promise<OutboxStore>
  /** Begins a transaction. Where transactions cannot overlap, there is one at a time. */
  openTransaction(): Promise<OpenUserTransaction>
  /** Moves the store's clock, for all connections. */
  advance(ms: number): Promise<void>
  /** Ends the lease of a runtime, as if it had been silent for too long. No hint is sent. */
  kill(runtime: number): Promise<void>
  /** How many rows a table of an outbox has; of the first one, unless a prefix is given. */
  count(table: OutboxTable, prefix?: string): Promise<number>
  /** A table of the user, as it is called in SQL. It has one column, `entry`, which is a text and unique. */
  readonly entries: string
  /** What the user's table has, in order. */
  readEntries(): Promise<readonly string[]>
}
