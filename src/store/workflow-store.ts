// The port between the engine and a database: durable state of workflow instances.
//
//   P1. One method is one transaction, and one small answer; only starts that another transaction
//       has locked may need a second one. Histories are read by `load` only.
//   P2. What an owner writes is judged item by item on (runtime, epoch), in the same transaction.
//       An item that is refused has no effect at all, and does not affect the other items.
//   P3. Sending the same batch again is safe: what was done before is recognised and answered as
//       done (the history row has the epoch).
//   P4. A dead runtime stays dead. Once its death is visible, none of its commits follows.
//   P5. The store's clock decides. Every answer carries it, in milliseconds since 1970.
//   P6. Strings are stored as they are and never parsed. None contains a raw control character
//       other than the separators of `history.ts`.
//   P7. A store throws `StoreError` and nothing else.

import type { Logger } from '../base/log.ts'
import type { ImportItem, Terminated, Termination } from './admin.ts'
import type { AdminStore } from './admin-store.ts'
import type {
  Claim,
  ClaimAnswer,
  ClaimRequest,
  Loaded,
  CachedInstance,
  LoadRequest,
} from './claims.ts'
import type {
  CommitAnswer,
  CommitBatch,
  StartBatchOptions,
  StartItem,
  HistoryPage,
  TurnRow,
  Verdict,
} from './commits.ts'
import type { HintStore } from './hints.ts'
import type { Delivery, Post, PostAnswer, PostBatchOptions } from './inbox.ts'
import type { Iid, InstanceRow, WorkflowName } from './instances.ts'
import type { LeaseKeeper, LeaseRequest } from './lease-keeper.ts'
import type { OutboxStore } from './outbox-store.ts'
import type {
  LeaseAnswer,
  Registered,
  RegisterRequest,
  TickAnswer,
  TickRequest,
} from './runtimes.ts'
import type { ScheduleStore } from './schedules.ts'
import type { TaskStore } from './tasks.ts'
import type { StoreInTransaction, Transact } from './transactions.ts'
import type { Whereabouts } from './whereabouts.ts'

/** Durable state of workflow instances. Must pass `describeWorkflowStore` of `holdfast/testing`. */
export interface WorkflowStore extends TaskStore {
  /** `sqlite`, `postgres`, …: for messages and logs. */
  readonly kind: string
  /** Sends hints between processes; without it they find work by ticks and polls. */
  readonly hints?: HintStore | undefined
  /** What starts instances at due times. */
  readonly schedules: ScheduleStore
  /** Searches, removals and figures for people and tools. */
  readonly admin: AdminStore
  /** Why `transact` can never succeed here; `undefined` if it can. */
  readonly withoutTransactions?: string | undefined

  /**
   * Connects and brings the schema up to date. Calling it again is harmless. A store may wait for a
   * server that is not ready, for `connectTimeoutMs` (without it, not at all), and then says so in
   * the log.
   */
  open(around?: { readonly log: Logger; readonly connectTimeoutMs?: number }): Promise<void>
  /** Ends every connection. Later calls fail with `closed`. */
  close(): Promise<void>

  /** Takes in a new runtime, alive for `leaseMs`. */
  register(registration: RegisterRequest): Promise<Registered>
  /** Ends a runtime and frees its instances and tasks at once. */
  unregister(runtime: number): Promise<void>
  /**
   * Renews the lease of a runtime from a thread with its own connection, even while the event loop
   * is blocked. Not every store can; `undefined` if this one cannot as it is configured.
   */
  keepLease?(request: LeaseRequest): LeaseKeeper | undefined
  /** The store's clock, in milliseconds since 1970: the only one that decides what is due. */
  now(): Promise<number>
  /**
   * Adds a listener. When another server has taken the place of the one before, every listener is
   * called before anything is sent to the new server, which may lack the latest writes. Calls that
   * were made earlier fail as if the connection were lost. Not every store can do this.
   */
  onPromotion?(listener: () => void): void
  /** Numbers for new instances: `count` of them, from the one returned. */
  reserve(count: number): Promise<Iid>
  /** Numbers for workflows that a client starts, in the order given. */
  workflowNumbers(workflows: readonly WorkflowName[]): Promise<readonly number[]>

  /** Starts instances for a client that owns nothing: `owned` must be false. `at` is the store's. */
  start(items: readonly StartItem[], options?: StartBatchOptions): Promise<readonly Verdict[]>
  /** Applies what a runtime decided. See P2, P3, P4. */
  commit(batch: CommitBatch): Promise<CommitAnswer>
  /**
   * Takes ownership of what is due or has mail, raising its epoch. Returns ids only: `load` reads
   * the rest.
   *
   * An instance that two or more owners died with (`deaths`) is handed out alone: a runtime that
   * owns such an instance or task gets no other of either until that one has made progress.
   *
   * An instance that was started without a version (`NO_VERSION`) gets the latest version that any
   * live runtime registers, and keeps it.
   *
   * An instance of a workflow with a limit is handed out once the limit admits it: those of one key
   * by priority, then in the order in which their starts were due. It is admitted until it ends,
   * whichever runtime owns it.
   */
  claim(request: ClaimRequest): Promise<ClaimAnswer>
  /** Reads instances in one snapshot; unknown ones are left out. */
  load(wanted: readonly LoadRequest[]): Promise<readonly Loaded[]>
  /**
   * Records what the owner is about to do with an instance, in case it kills the process. Returns
   * whether the runtime is still the owner. The note is removed when the instance makes progress or
   * waits.
   */
  aboutTo(runtime: number, iid: Iid, epoch: number, doing: string): Promise<boolean>
  /**
   * Runs code in a transaction of the store and puts its result into the inbox of its instance, or
   * does nothing at all: `refused` if the runtime is no longer the owner of the instance or task,
   * or there is a result already. If the code throws, that error is thrown, and nothing has
   * happened.
   */
  transact(work: Transact): Promise<'done' | 'refused'>
  /**
   * The same store inside a transaction of a database driver; throws a `TypeError` if it is not a
   * transaction of this store. Unless `notify` is false, other runtimes may be notified when it
   * commits.
   */
  within(tx: unknown, options?: { readonly notify?: boolean }): StoreInTransaction
  /** Puts results into inboxes. A second one for a command is dropped. Never waits for an owner. */
  send(deliveries: readonly Delivery[]): Promise<void>
  /**
   * Puts messages into inboxes, in the order given. Never waits for an owner, nor for long for a
   * transaction that has locked an id.
   */
  post(posts: readonly Post[], options?: PostBatchOptions): Promise<readonly PostAnswer[]>
  /**
   * Makes the lease of a runtime end `leaseMs` from now. Apart from everything else, so that nothing
   * else can make it fail.
   */
  renewLease(runtime: number, leaseMs: number): Promise<LeaseAnswer>
  /**
   * Declares other runtimes dead whose lease ended, and says what there is to do. Costs the same
   * however many instances wait.
   */
  tick(request: TickRequest): Promise<TickAnswer>
  /**
   * Marks other runtimes whose lease has expired as dead, and returns what there is to do. Costs
   * the same however many instances wait.
   */
  verify(
    runtime: number,
    copies: readonly CachedInstance[],
  ): Promise<{ readonly server: string; readonly same: readonly boolean[] }>
  /**
   * Suspends unfinished instances, whichever runtime owns them: what that owner still sends is
   * rejected. What is suspended already keeps the report of why it is. Returns for each whether it was
   * unfinished.
   */
  suspend(ids: readonly string[], report: string): Promise<readonly boolean[]>
  /**
   * Makes suspended instances claimable again, and their tasks, with no deaths; returns how many
   * were suspended.
   */
  resume(ids: readonly string[]): Promise<number>
  /**
   * Ends unfinished instances at once, whichever runtime owns them, as `terminated`: their parents
   * get the result, and their children are closed.
   */
  terminate(terminations: readonly Termination[]): Promise<Terminated>
  /** Removes instances that have ended, with all there is of them; returns how many there were. */
  remove(ids: readonly string[]): Promise<number>
  /**
   * Removes some of the instances that ended longer ago than the latest registration of their
   * workflow keeps them. What a workflow started is kept until the execution that started it ends.
   * Returns whether there may be more.
   */
  removeExpired(): Promise<boolean>
  /**
   * Records the keys of starts that came without one, for the limits of their workflows: see
   * `ClaimAnswer.unkeyed`. The first that is recorded counts.
   */
  setLimitKeys(keys: readonly { readonly iid: Iid; readonly key: string }[]): Promise<void>
  /** Makes an instance from a history. */
  import(item: ImportItem): Promise<Verdict>
  /** Instances this runtime owns, by number: finds what a lost answer left behind. */
  owned(runtime: number): Promise<readonly Claim[]>
  /** Looks instances up by the caller's id; unknown ones are `undefined`. */
  find(ids: readonly string[]): Promise<readonly (InstanceRow | undefined)[]>
  /** Looks instances up by number, for callers that wait for an end. */
  look(iids: readonly Iid[]): Promise<readonly (InstanceRow | undefined)[]>
  /** Which runtimes work on an instance, and which could: for diagnosis. */
  whereabouts(iid: Iid): Promise<Whereabouts>
  /** The turns of one execution, in order, or a page of them; empty when there is none. */
  history(iid: Iid, execution: number, page?: HistoryPage): Promise<readonly TurnRow[]>
  /** Values that workflows keep, by the caller's id and the key. */
  readState(
    wanted: readonly { readonly id: string; readonly key: string }[],
  ): Promise<readonly (string | undefined)[]>
  /**
   * The outbox whose tables have this prefix, in the same database. It uses the connections of this
   * store, which must be open, and ends with it. Not every store has one.
   */
  outbox?(prefix: string): OutboxStore
  /** Answers to requests. They are kept for an hour at least. */
  replies(to: readonly string[]): Promise<readonly (string | undefined)[]>
}
