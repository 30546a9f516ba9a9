// The port between the engine and a database: durable state of workflow instances.
//
//   P1. One method is one transaction, and one small answer, except that starts which others have
//       locked may be answered by a second one. Histories are read by `load` only.
//   P2. What an owner writes is judged item by item on (runtime, epoch), in the same transaction.
//       An item that fails the judgement has no effect at all; its neighbours are untouched.
//   P3. Sending the same batch again is safe: what was done before is recognised and answered as
//       done (the history row has the epoch).
//   P4. A runtime is dead once and for ever. When its death is visible, no commit of it follows.
//   P5. Time is the store's. Every answer carries its clock in milliseconds since 1970.
//   P6. Texts are stored as they are and never parsed. None contains a raw control character other
//       than the separators of `history.ts`.
//   P7. A store throws `StoreError` and nothing else.

import type { Logger } from '../base/log.ts'
import type { ImportItem, Terminated, Termination } from './admin.ts'
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
  TurnRow,
  Verdict,
} from './commits.ts'
import type { HintStore } from './hints.ts'
import type { Delivery, Post, PostAnswer, PostBatchOptions } from './inbox.ts'
import type { Iid, InstanceRow, WorkflowName } from './instances.ts'
import type { LeaseKeeper, LeaseRequest } from './lease.ts'
import type {
  LeaseAnswer,
  Registered,
  RegisterRequest,
  TickAnswer,
  TickRequest,
} from './runtimes.ts'
import type { TaskStore } from './tasks.ts'
import type { StoreInTransaction, Transact } from './transactions.ts'
import type { Whereabouts } from './whereabouts.ts'

/** Durable state of workflow instances. Must pass `describeWorkflowStore` of `holdfast/testing`. */
export interface WorkflowStore extends TaskStore {
  /** `sqlite`, `postgres`, …: for messages and logs. */
  readonly kind: string
  /** How processes tell each other what they did; without it they find out by ticks and looks. */
  readonly hints?: HintStore | undefined
  /** Why `transact` can never succeed here; `undefined` where it can. */
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
   * Looks after the lease of a runtime from a thread with a connection of its own, while the event
   * loop may stand still. Not every store can; `undefined` when this one cannot as it is set up.
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
   * Takes ownership of what is due or has mail, raising its epoch. Ids only: `load` reads the rest.
   *
   * What two owners died with (`attempts` of 2 and more) is handed out one at a time: a runtime that
   * owns such an instance or task gets no other of either until that one got further.
   *
   * What was started without a version (`NO_VERSION`) is given the latest that a live runtime
   * registers, whoever claims it, and keeps it.
   */
  claim(request: ClaimRequest): Promise<ClaimAnswer>
  /** Reads instances in one snapshot; unknown ones are left out. */
  load(wanted: readonly LoadRequest[]): Promise<readonly Loaded[]>
  /**
   * Notes what the owner is about to do with an instance, before it does: in case it dies of it.
   * Answers whether it is still the owner. What gets further, or comes to rest, loses the note.
   */
  aboutTo(runtime: number, iid: Iid, epoch: number, doing: string): Promise<boolean>
  /**
   * Runs code in a transaction of the store and puts its result into the inbox of its instance, or
   * does nothing at all: `refused` when the runtime is not the owner or holder any more, or when there
   * is a result already. What the code throws is thrown, and nothing has happened.
   */
  transact(work: Transact): Promise<'done' | 'refused'>
  /**
   * The same store inside a transaction of a database driver; `TypeError` when it is none of this
   * store's. Unless `tells` is false, runtimes elsewhere may be told when it is committed.
   */
  within(tx: unknown, options?: { readonly tells?: boolean }): StoreInTransaction
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
   * Which of these instances in memory the store still has: the owner and epoch are the same, and the turn is
   * there. Also the server's identity.
   */
  verify(
    runtime: number,
    copies: readonly CachedInstance[],
  ): Promise<{ readonly server: string; readonly same: readonly boolean[] }>
  /**
   * Suspends unfinished instances, whoever owns them: nothing that owner sends has an effect any
   * more. Answers for each whether it was unfinished; suspending again only renews the report.
   */
  suspend(ids: readonly string[], report: string): Promise<readonly boolean[]>
  /**
   * Makes suspended instances claimable again, and their tasks, as if nobody had ever died
   * with them; returns how many were.
   */
  resume(ids: readonly string[]): Promise<number>
  /**
   * Ends unfinished instances at once, whoever owns them, as `terminated`: their parents are told,
   * their children closed.
   */
  terminate(terminations: readonly Termination[]): Promise<Terminated>
  /** Removes instances that have ended, with all there is of them; returns how many there were. */
  remove(ids: readonly string[]): Promise<number>
  /**
   * Removes instances that ended longer ago than the latest registration of their workflow wants them
   * kept: some of them. What a workflow started is kept while the execution that did it goes on.
   * Answers whether there may be more.
   */
  removeExpired(): Promise<boolean>
  /** Makes an instance from a history. */
  import(item: ImportItem): Promise<Verdict>
  /** Instances this runtime owns, by number: finds what a lost answer left behind. */
  owned(runtime: number): Promise<readonly Claim[]>
  /** Looks instances up by the caller's id; unknown ones are `undefined`. */
  find(ids: readonly string[]): Promise<readonly (InstanceRow | undefined)[]>
  /** Looks instances up by number, for those who wait for an end. */
  look(iids: readonly Iid[]): Promise<readonly (InstanceRow | undefined)[]>
  /** Who works on an instance, and who could: only people ask for it. */
  whereabouts(iid: Iid): Promise<Whereabouts>
  /** The turns of one execution, in order; empty when there is none. */
  history(iid: Iid, execution: number): Promise<readonly TurnRow[]>
  /** Values that workflows keep, by the caller's id and the key. */
  readState(
    wanted: readonly { readonly id: string; readonly key: string }[],
  ): Promise<readonly (string | undefined)[]>
  /** Answers to requests. They are kept for an hour at least. */
  replies(to: readonly string[]): Promise<readonly (string | undefined)[]>
}
