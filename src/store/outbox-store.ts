// The port of the outbox: messages in topics, each topic split into partitions.
//
//   - A message gets a position when it is enqueued. Positions grow, and the messages of a partition are
//     read in the order of their positions. Reading never passes a position that an open transaction may
//     still fill (see ADR 26), so the cursor of a partition passes every message exactly once.
//   - A partition belongs to one runtime at a time. Each claim that it keeps raises the epoch. Everything
//     that the owner writes is judged on (runtime, epoch, cursor) in the same transaction; what fails the
//     judgement has no effect at all.
//   - A runtime that was declared dead owns nothing. Its partitions can be claimed by others.
//   - Messages behind the cursor are done. They are removed later, in the background.
//   - Time is the store's, in milliseconds since 1970.
//   - Texts are stored as they are. A store throws `StoreError` and nothing else.

import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log.ts'
import type { HintSubscription } from './hints.ts'

/** A topic, as the store has it. Its partitions are numbered from `first`. */
export interface TopicRow {
  readonly topic: number
  readonly name: string
  /** The number of its first partition; the others follow. */
  readonly first: number
  readonly partitions: number
}

/** A message to enqueue. */
export interface NewMessage {
  /** The number of the partition: `TopicRow.first` and its index. */
  readonly partition: number
  /** The topic that its dedupe key belongs to. */
  readonly topic: number
  readonly key: string | null
  readonly payload: string
  /** JSON, or `null` for none. */
  readonly headers: string | null
  /** 0 for none. */
  readonly delayMs: number
  /** Dropped if it was not delivered within this time after it became due. */
  readonly ttlMs: number | null
  readonly dedupeKey: string | null
}

/** The answer for one new message; a duplicate has the id of the first. */
export interface Enqueued {
  readonly id: number
  readonly isDuplicate: boolean
}

/** The outbox inside a transaction that the caller commits. */
export interface OutboxInTransaction {
  /** Registers topics where the store itself cannot while this transaction is open. */
  readonly topics?: (topics: readonly NewTopic[]) => Promise<readonly TopicRow[]>
  /** Those of these topics that are registered and committed. Only where they are not registered inside. */
  readonly findTopics?: (names: readonly string[]) => Promise<readonly TopicRow[]>
  /** Stores all messages, or throws and stores none. One round trip. */
  enqueue(messages: readonly NewMessage[]): Promise<readonly Enqueued[]>
  /** Resolves when the transaction has ended, either way. Only where that can be seen from here. */
  readonly ended?: () => Promise<void>
}

/** A topic to register. */
export interface NewTopic {
  readonly name: string
  readonly partitions: number
}

/** A message that was read. */
export interface StoredMessage {
  readonly position: number
  readonly id: number
  /** Its number within the partition: 1, 2, 3, … without gaps. */
  readonly seq: number
  readonly key: string | null
  readonly payload: string
  readonly headers: string | null
  readonly enqueuedAt: number
  readonly expiresAt: number | null
  /** How many attempts have failed, or ended with the death of their runtime. */
  readonly failures: number
}

/** What to write about messages that were handed out, all of it or nothing. */
export interface Settlement {
  /** The cursor before; the store rejects the settlement when it has another. */
  readonly cursor: number
  /** The cursor from now on: every message up to here is done, dead or waiting. */
  readonly to: number
  /** How many messages lie between the two. */
  readonly passed: number
  /** Positions after `to` that are done. */
  readonly done: readonly number[]
  /** Positions after `to` whose attempts failed, with the number of failures. */
  readonly failures: ReadonlyMap<number, number>
  /**
   * Positions after `to` that are not read before a time, and neither is what is behind them: that comes in order.
   */
  readonly later: ReadonlyMap<number, number>
  /** Nothing is read before this time; `null` for no delay. */
  readonly dueAt: number | null
  /** Messages that become dead letters: from the partition, or from those that wait. */
  readonly dead: readonly DeadMessage[]
  /** Messages up to `to` that wait apart, so that others can pass them. */
  readonly deferred: readonly DeferredMessage[]
  /** What became of messages that waited apart. */
  readonly waiting: readonly WaitingOutcome[]
}

/** A message that becomes a dead letter. */
export interface DeadMessage {
  readonly position: number
  readonly seq: number
  readonly reason: string
  /** Failed attempts, including the last. */
  readonly failures: number
}

/** A message that waits apart from its partition, together with those of the same key behind it. */
export interface DeferredMessage {
  readonly position: number
  readonly seq: number
  readonly failures: number
  readonly dueAt: number
}

/** What became of a message that waited apart: done, or to be tried again. */
export interface WaitingOutcome {
  readonly position: number
  /** `null` when it is done. */
  readonly retry: { readonly failures: number; readonly dueAt: number } | null
}

/** One step of a runtime with a partition: claim or settle, then read, then release. */
export interface Step {
  readonly partition: number
  /** The epoch of the claim; `null` to claim the partition now. */
  readonly epoch: number | null
  readonly settle: Settlement | null
  /** How many messages to read afterwards; 0 for none. */
  readonly read: number
  /** Whether to give the partition back: in any case, when there is nothing to read, or not. */
  readonly release: 'always' | 'when-empty' | 'never'
}

/** The answer to a step. */
export type StepAnswer =
  /**
   * `lost`: this runtime does not own the partition at this epoch and cursor any more · `busy`: another
   * live runtime owns it · `dead`: this runtime was declared dead.
   */
  | { readonly state: 'lost' | 'busy' | 'dead' }
  | {
      readonly state: 'ok'
      readonly epoch: number
      readonly cursor: number
      /** Positions after the cursor that are done. */
      readonly done: readonly number[]
      /** Positions after the cursor with failed attempts. */
      readonly failures: ReadonlyMap<number, number>
      /** Positions after the cursor that are not read before a time. */
      readonly later: ReadonlyMap<number, number>
      /** With how many messages of it the runtime died that the claim took it from; 0 if none did. */
      readonly abandoned: number
      /** What was read, in order: at most as many as asked for, none before `dueAt`. */
      readonly messages: readonly StoredMessage[]
      /** Messages that waited apart and are due, the first of each key. */
      readonly due: readonly StoredMessage[]
      /** Keys of messages that were read and must wait apart, behind others of the same key. */
      readonly waitingKeys: readonly string[]
      /** Whether there may be more behind a transaction that is still open. */
      readonly isBlocked: boolean
      /** When there is something to do by time alone, `null` for never. */
      readonly dueAt: number | null
      readonly isReleased: boolean
    }

/** A partition that there may be something to do for. */
export interface PartitionWork {
  readonly partition: number
  /** Now, when it is not in the future; `null` when it only waits for an open transaction. */
  readonly dueAt: number | null
  /** Whether it waits for a transaction that is still open. */
  readonly isBlocked: boolean
}

/** The answer to a tick. */
export interface OutboxTick {
  readonly state: 'ok' | 'dead'
  readonly clock: number
  readonly work: readonly PartitionWork[]
  readonly delayedAt: number | null
  /** When the first lease of another live runtime ends, unless it is renewed; `null` if there is none. */
  readonly leaseEndsAt: number | null
}

/** What to do for the messages of one partition inside a transaction of the store. */
export interface OutboxTransact {
  readonly runtime: number
  readonly partition: number
  readonly epoch: number
  readonly cursor: number
  /** Runs inside the transaction, and returns what to settle in it. What it throws is thrown. */
  readonly work: (tx: OutboxTransaction) => Promise<Settlement>
}

/** A transaction of the store for handlers. */
export interface OutboxTransaction {
  /**
   * Runs code whose statements count only if it succeeds. Throws what the code throws, after its
   * statements were undone, or a `TransactionLostError` when nothing of the transaction is left.
   */
  attempt<T>(code: (tx: HandlerQueries) => Promise<T>): Promise<T>
}

/** The transaction of handlers is lost, and with it all that they wrote; the cause says why. */
export class TransactionLostError extends Error {
  constructor(cause: unknown) {
    super('the transaction was lost', { cause })
  }
}

/** Sends the SQL of a handler. */
export interface HandlerQueries {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>
}

/** The states of a dead letter. */
export const DEAD_LETTER_STATES = ['pending', 'reprocessing', 'resolved', 'discarded'] as const

/** The state of a dead letter. */
export type DeadLetterState = (typeof DEAD_LETTER_STATES)[number]

/** A dead letter, as the store has it. */
export interface DeadLetterRow extends Omit<StoredMessage, 'position' | 'expiresAt'> {
  /** Its own number. */
  readonly letter: number
  readonly partition: number
  readonly state: DeadLetterState
  readonly reason: string
  readonly failedAt: number
  /** When it was resolved or discarded. */
  readonly completedAt: number | null
  /** Until when a replay has it. */
  readonly deadline: number | null
}

/** Which dead letters. */
export interface DeadLetterRequest {
  /** Partitions, as ranges of numbers, both ends included; `null` for all. */
  readonly partitions: { readonly from: number; readonly to: number } | null
  readonly state: DeadLetterState | null
  readonly limit: number | null
  /** Only older ones than this: the `failedAt` and number of the last one of the page before. */
  readonly after: { readonly failedAt: number; readonly letter: number } | null
}

/** How full a partition is. */
export interface PartitionStats {
  readonly partition: number
  /** Messages that are not done, whatever they wait for. */
  readonly depth: number
  /** Messages that have come due, also behind an open transaction. */
  readonly ready: number
  /** Messages that have not entered the partition yet. */
  readonly delayed: number
  /** When the oldest message that is not done was enqueued; a delayed one counts from when it is due. */
  readonly oldestAt: number | null
}

/** A listener for what other processes enqueue. */
export interface OutboxListener {
  readonly clock: Clock
  readonly log: Logger
  /** These partitions may have something to deliver, now or at a time of the store. None: any may. */
  readonly onMessages: (partitions: readonly number[], at: number) => void
  /** Notifications may have been missed: polls the store. Returns whether there was anything to do. */
  readonly look: () => Promise<boolean>
}

/** Messages of one outbox: all tables with one prefix. */
export interface OutboxStore {
  readonly kind: string
  /** Why transactional handlers cannot run here; `undefined` where they can. */
  readonly withoutTransactions?: string | undefined
  /** Creates or upgrades the tables. Calling it again is harmless. */
  open(): Promise<void>
  /** Registers topics that are unknown, and answers what the store has of each. */
  topics(topics: readonly NewTopic[]): Promise<readonly TopicRow[]>
  /** All topics that are registered, by any process. */
  allTopics(): Promise<readonly TopicRow[]>
  /** See `WorkflowStore.within`. */
  within(tx: unknown, options: { readonly notify: boolean }): OutboxInTransaction
  /** Takes steps with several partitions in one transaction, each judged by itself. */
  steps(
    runtime: number,
    steps: readonly Step[],
  ): Promise<{ readonly clock: number; readonly answers: readonly StepAnswer[] }>
  /** Runs handlers in a transaction and settles in it; returns `lost` and does nothing if not the owner. */
  transact(work: OutboxTransact): Promise<'done' | 'lost'>
  /** Which of these partitions there may be something to do for; of all when `null`. */
  look(
    partitions: readonly number[] | null,
  ): Promise<{ readonly clock: number; readonly work: readonly PartitionWork[] }>
  /**
   * Puts delayed messages that are due into their partitions, a limited number of them. Returns the
   * partitions, and when the next ones are due.
   */
  moveDelayed(): Promise<{
    readonly clock: number
    readonly partitions: readonly number[]
    readonly nextAt: number | null
  }>
  /**
   * Renews the lease of a runtime that delivers messages, and declares other runtimes dead whose lease
   * ended. Returns what a lost hint would have announced: the same as `look(null)`, when the next delayed
   * messages are due, and when to look for the dead again.
   */
  tick(runtime: number, leaseMs: number): Promise<OutboxTick>
  /** Removes up to `limit` messages that are done. Returns how many there were. */
  removeDone(limit: number): Promise<number>
  /**
   * Removes dedupe keys and completed dead letters that are older than this, and gives back dead
   * letters whose replay missed its deadline.
   */
  tidy(keep: { readonly keysMs: number; readonly lettersMs: number }): Promise<void>
  stats(topics: readonly number[]): Promise<{
    readonly clock: number
    readonly partitions: readonly PartitionStats[]
  }>
  /** Newest first. */
  deadLetters(request: DeadLetterRequest): Promise<readonly DeadLetterRow[]>
  countDeadLetters(request: DeadLetterRequest): Promise<number>
  /** Takes pending dead letters, and those of replays that missed their deadline. Returns the new rows. */
  replayDeadLetters(
    request: DeadLetterRequest,
    deadlineMs: number,
  ): Promise<readonly DeadLetterRow[]>
  /** Puts pending dead letters, or those of a replay, back into their partition, behind all others. */
  requeueDeadLetters(letters: readonly number[]): Promise<readonly number[]>
  resolveDeadLetters(letters: readonly number[]): Promise<number>
  /** Ends a replay without success: they are pending again. */
  rejectDeadLetters(letters: readonly number[], reason: string): Promise<number>
  discardDeadLetters(request: DeadLetterRequest): Promise<number>
  /** Removes those that are resolved or discarded. */
  cleanupDeadLetters(request: DeadLetterRequest): Promise<number>
  /**
   * Announces that this process looks for messages of these topics by itself for a while, so that those who
   * enqueue need not notify it. Returns until when, by the store's clock. A later `look` finds what was
   * enqueued without a notification, or that a transaction is still open. Only where notifications cost a lot.
   */
  stayAwake?(topics: readonly number[], forMs: number): Promise<number>
  /** Notifies other processes of messages in these partitions that this one has no room for. */
  wakeOthers?(partitions: readonly number[]): Promise<void>
  /** Listens for what others enqueue, until it is closed. */
  listen(listener: OutboxListener): HintSubscription
  /** Ends what belongs to this outbox alone; the connections belong to the workflow store. */
  close(): Promise<void>
}
