// The port between the engine and a database: durable state of workflow instances.
//
//   P1. One method is one transaction, and one small answer. Histories are read by `load` only.
//   P2. What an owner writes is judged item by item on (runtime, epoch), in the same transaction.
//       An item that fails the judgement has no effect at all; its neighbours are untouched.
//   P3. Sending the same batch again is safe: what was done before is recognised and answered as
//       done (the epoch stands in the history row).
//   P4. A runtime is dead once and for ever. When its death is visible, no commit of it follows.
//   P5. Time is the store's. Every answer carries its clock in milliseconds since 1970.
//   P6. Texts are stored as they are and never parsed. None holds a raw control character other
//       than the separators of `history.ts`.
//   P7. A store throws `StoreError` and nothing else.

import type { HintStore } from './hints.ts'
import type { LeaseKeeper, LeaseRequest } from './lease.ts'
import type { OpenTask, NewTask, TaskInterest, TaskKey, TaskStore } from './tasks.ts'

/** The number of an instance: never reused, also when its id is. */
export type Iid = number

/** A workflow by name and version, as the store numbers it. */
export interface WorkflowName {
  readonly name: string
  readonly version: string
}

/** How an instance ended. */
export type EndStatus = 'completed' | 'failed' | 'cancelled' | 'terminated'

/** The end of an instance: its result or its error, encoded. */
export interface Ending {
  readonly status: EndStatus
  readonly output: string
}

/** One turn as it is stored: one row of history. */
export interface TurnRow {
  readonly execution: number
  /** 1 for the first turn of an execution. */
  readonly turn: number
  /** When the turn ran, by the store's clock. Never less than the turn before. */
  readonly at: number
  /** Number of its first event within the execution, from 1. */
  readonly first: number
  /** How many events it holds. */
  readonly count: number
  /** The events, as `history.ts` writes them. */
  readonly events: string
}

/** What becomes of a child when its parent ends: `independent` is no child, only started by one. */
export type OnParentClose = 'cancel' | 'terminate' | 'abandon' | 'independent'

/** Who started an instance, from inside a workflow. */
export interface ParentLink {
  readonly iid: Iid
  /** The parent's id, as callers know it. */
  readonly id: string
  readonly execution: number
  readonly command: number
  readonly onClose: OnParentClose
}

/** A value that a workflow keeps for others to read; `null` takes it away. */
export interface StateChange {
  readonly key: string
  readonly value: string | null
}

/** An answer to a request. */
export interface Reply {
  /** As the request named it. */
  readonly to: string
  readonly payload: string
}

/** What a turn does beyond its own history. Applied with it, or not at all. */
export interface Effects {
  /** Inbox rows that nobody waits for: they stay, and no longer make the instance claimable. */
  readonly parked: readonly number[]
  /**
   * Children to be closed, each as its link says (a `cancel` or `terminate` row in its inbox): those
   * of these commands of the execution, or all that are unfinished. Nobody is told twice.
   */
  readonly closes: 'all' | readonly number[]
  /** Whether all state goes before `state` is applied. */
  readonly clearsState: boolean
  readonly state: readonly StateChange[]
  /** What watchers see from now on; `null` leaves it as it is. */
  readonly progress: string | null
  readonly replies: readonly Reply[]
  /** Activities for whichever runtime can run them. */
  readonly tasks: readonly NewTask[]
  /** Commands of the execution whose tasks nobody waits for any more, whoever holds them. */
  readonly dropsTasks: readonly number[]
}

/** A new instance. Its first turn holds at least the `started` event. */
export interface StartItem {
  /** From `reserve`, so that a start sent again is recognised. */
  readonly iid: Iid
  /** What the caller calls it; unique. */
  readonly id: string
  readonly workflow: number
  /** True: owned by the sending runtime at epoch 1. False: anybody may claim it from `wakeAt` on. */
  readonly owned: boolean
  /** When it is due; only for one that is not owned. */
  readonly wakeAt: number | null
  readonly turn: TurnRow
  /** Set when it ended within its first turn. */
  readonly end: Ending | null
  readonly parent: ParentLink | null
  /** For people and filters: a JSON object of texts. */
  readonly labels: string
  /** Put into its inbox with the start. */
  readonly messages: readonly { readonly name: string; readonly payload: string }[]
  readonly effects: Effects | null
}

/** What becomes of an instance after a turn. */
export type Next =
  /** The runtime keeps it. */
  | { readonly kind: 'keep' }
  /** It is free again, due at `wakeAt`, or when a message comes. */
  | { readonly kind: 'release'; readonly wakeAt: number | null }
  /** It is set aside with a report until somebody resumes it. */
  | { readonly kind: 'hold'; readonly report: string }
  /** It has ended. Its parent is told, its inbox and state of sending are emptied. */
  | { readonly kind: 'end'; readonly end: Ending }
  /**
   * Its next execution begins: `started` is that one's first row. Results for the execution that
   * ended are dropped, messages stay. Not kept: it is free and due now, under `workflow`.
   */
  | {
      readonly kind: 'continue'
      readonly started: TurnRow
      readonly workflow: number
      readonly keep: boolean
    }

/** What an owner writes about one instance. */
export interface TurnItem {
  readonly iid: Iid
  readonly epoch: number
  /** The turn to append; `null` when nothing happened and only `next` or the inbox matters. */
  readonly turn: TurnRow | null
  /** Inbox rows that this turn used up. */
  readonly taken: readonly number[]
  readonly effects: Effects | null
  readonly next: Next
}

/** What one runtime wants written, in one transaction. */
export interface CommitBatch {
  readonly runtime: number
  /** The server as last verified; another one answers `verify` and does nothing. */
  readonly server: string
  readonly starts: readonly StartItem[]
  readonly turns: readonly TurnItem[]
}

/**
 * `exists`: the id is taken by another instance. `absent`: messages came for the id before, under
 * another number; the start has to be sent again with that one (`find` tells it). `refused`: not, or no longer, the owner, also of
 * the unfinished parent of a start; of a start that was to be owned and is sent again, that it is
 * recorded, but was taken over since.
 */
export type Verdict = 'done' | 'refused' | 'exists' | 'absent'

/** What became of a batch. */
export type CommitAnswer =
  | {
      readonly state: 'ok'
      readonly clock: number
      readonly starts: readonly Verdict[]
      readonly turns: readonly Verdict[]
    }
  /** The runtime was declared dead; nothing was written. */
  | { readonly state: 'dead'; readonly clock: number }
  /** The server is another one than before; nothing was written. */
  | { readonly state: 'verify'; readonly clock: number; readonly server: string }

/** A workflow whose code a runtime has. */
export interface RegisteredWorkflow extends WorkflowName {
  /** How long its instances are kept after their end; for ever when it is left out. */
  readonly retentionMs?: number | undefined
}

/** A runtime that introduces itself. */
export interface Registration {
  readonly leaseMs: number
  readonly workflows: readonly RegisteredWorkflow[]
  /** For people: host, process id, version of the package, with a space between them. */
  readonly info: string
}

/** A runtime as the store knows it. */
export interface Registered {
  readonly runtime: number
  readonly server: string
  readonly clock: number
  /** The numbers of the workflows, in the order they were given. */
  readonly workflows: readonly number[]
}

/** What a runtime would like to own. */
export interface ClaimRequest {
  readonly runtime: number
  readonly workflows: readonly number[]
  readonly limit: number
  /** Instances it was told of, looked at first. */
  readonly hinted: readonly Iid[]
}

/** An instance that is now owned by the runtime that asked. */
export interface Claim {
  readonly iid: Iid
  readonly epoch: number
  readonly execution: number
  /** Its last turn; a copy in memory that stands at the same turn needs no load. */
  readonly turn: number
  /** How often an owner died with it without getting any further. */
  readonly attempts: number
  /** What its owner was about to do when it last told, see `aboutTo`; empty for nothing. */
  readonly doing: string
}

/** What a claim brought. */
export interface ClaimAnswer {
  readonly state: 'ok' | 'dead'
  readonly clock: number
  readonly claims: readonly Claim[]
}

/** A message or result that waits for the owner. */
export interface InboxRow {
  readonly id: number
  /**
   * `completed`, `failed`: of the command `command` in `execution`. `message`: for the channel
   * `name`. `cancel`, `terminate`: for the instance.
   */
  readonly kind: 'completed' | 'failed' | 'message' | 'cancel' | 'terminate'
  /** 0 unless it is a result; so is `command`. */
  readonly execution: number
  readonly command: number
  /** The channel of a message; otherwise empty. */
  readonly name: string
  /** Where the answer to a request goes; otherwise empty. */
  readonly replyTo: string
  /** An encoded value, error, or reason. */
  readonly payload: string
  /** Nobody waited for it so far. */
  readonly parked: boolean
}

/** An instance to be read. */
export interface Wanted {
  readonly iid: Iid
  /** Only turns after this one: 0 for all. A copy in memory knows the others. */
  readonly after: number
}

/** Everything needed to run an instance: one snapshot. */
export interface Loaded {
  readonly iid: Iid
  readonly id: string
  readonly workflow: WorkflowName
  readonly execution: number
  readonly parent: ParentLink | null
  readonly history: readonly TurnRow[]
  /** In the order of their numbers, parked ones included. */
  readonly inbox: readonly InboxRow[]
  /** Tasks of this execution, in no particular order. */
  readonly tasks: readonly OpenTask[]
}

/** A result for an instance, from whoever ran what it waits for. */
export interface Delivery {
  readonly iid: Iid
  readonly kind: 'completed' | 'failed'
  readonly execution: number
  readonly command: number
  readonly payload: string
}

/** Something for an instance by its id, from anybody. */
export interface Post {
  readonly id: string
  readonly kind: 'message' | 'cancel' | 'terminate'
  /** The channel of a message; otherwise empty. */
  readonly name: string
  readonly payload: string
  /** Where the answer to a request is waited for; otherwise empty. */
  readonly replyTo: string
  /** What comes again with the same key, to the same instance, is dropped; empty for no key. */
  readonly dedupeKey: string
  /** How many messages may wait in the channel; `null` for any number. */
  readonly capacity: number | null
  /** From `reserve`: the number of an instance that is not there yet. 0 unless it is a message. */
  readonly iid: Iid
}

/** How long messages are kept for an instance that was never started, after the newest of them. */
export const EARLY_KEPT_MS = 7 * 24 * 3_600_000

/** How many messages may wait for the start of an instance, in all its channels. */
export const MOST_EARLY = 10_000

/**
 * `full`: the channel holds as many messages as it may, or the instance was never started and
 * `MOST_EARLY` wait for that. `ended`: nobody will read it. `unknown`: there is no such instance; a
 * message is kept for it (`sent`), anything else is not.
 */
export type PostVerdict = 'sent' | 'duplicate' | 'full' | 'ended' | 'unknown'

/** What became of a post, and who should be told. */
export interface PostAnswer {
  readonly verdict: PostVerdict
  /** 0 when unknown. */
  readonly iid: Iid
  /** The runtime that owns it now, if any. */
  readonly owner: number | null
  /** Whether the store tells who has to know, as it was asked to. */
  readonly isTold?: boolean
}

/** An instance to be ended from outside. */
export interface Termination {
  readonly id: string
  /** The error that its waiters and its parent get. */
  readonly output: string
  /** The events of its last turn, as `history.ts` writes them: one. */
  readonly events: string
}

/** An instance made from a history. Nobody owns it; it is due at once. */
export interface ImportItem {
  readonly iid: Iid
  readonly id: string
  readonly workflow: number
  readonly labels: string
  /** All of one execution, from its first turn on. */
  readonly turns: readonly TurnRow[]
  /** Its state as of the last turn. */
  readonly state: readonly StateChange[]
}

/** What a runtime says every few seconds. */
export interface TickRequest {
  readonly runtime: number
  readonly leaseMs: number
  readonly workflows: readonly number[]
  /** What it can run; `null` when it runs no tasks. */
  readonly tasks: TaskInterest | null
  /** Activities that it has no code for, as far as it could find out: nothing is `stranded` by them. */
  readonly unknown: readonly string[]
  /** Attempts it is busy with: whether they are still wanted is answered. */
  readonly held: readonly (TaskKey & { readonly attempt: number })[]
  /** Whether it has room for more, and nothing to do. */
  readonly idle: boolean
}

/** Messages that were removed because nobody will receive them, by when they came. */
export interface Undelivered {
  /** After the end: the sender looked before it, and committed after it. */
  readonly late: number
  /** For an instance that was never started: `EARLY_KEPT_MS` after the newest of them. */
  readonly early: number
}

/** What the store answers: the bound on every lost hint. */
export type TickAnswer =
  | {
      readonly state: 'ok'
      readonly clock: number
      readonly server: string
      /** Own instances with messages. */
      readonly mail: readonly Iid[]
      /** How many instances this runtime owns: more than it knows of means a lost answer. */
      readonly owned: number
      /** Whether something of these workflows can be claimed now. */
      readonly claimable: boolean
      /** When the next one falls due, or `null`. */
      readonly nextDue: number | null
      /** When the next task can be had, by time alone: `clock` or earlier for now, `null` for none. */
      readonly nextTask: number | null
      /**
       * Instances of these workflows that nobody owns, with a task that waits for an activity which is
       * neither among `tasks` nor `unknown`, a few of them: who runs one finds out whether it has the
       * code. They can be claimed when hinted at.
       */
      readonly stranded: readonly Iid[]
      /** For each attempt of `held` whether it is still wanted, and still this runtime's. */
      readonly wanted: readonly boolean[]
      /** Of the activities of `tasks`, those that another live runtime could run, which is idle. */
      readonly helped: readonly string[]
      /** How many messages this tick removed. */
      readonly undelivered: Undelivered
    }
  | { readonly state: 'dead'; readonly clock: number }

/** User code whose effects and whose result are committed together. */
export interface Transact extends TaskKey {
  readonly runtime: number
  /** What it is judged on: the epoch of the owner, or the attempt of the holder of a task. */
  readonly by: { readonly epoch: number } | { readonly attempt: number }
  /** Runs inside the transaction, with what the store's transactions are made of; its result, encoded. */
  readonly code: (tx: unknown) => string | Promise<string>
}

/** What can be done inside a transaction that somebody else commits. It takes no lock that owners wait for. */
export interface StoreInTransaction {
  /**
   * Numbers for a new instance, and of its workflow unless that is `null`. Only where the store itself
   * has none to give while this transaction is open; of no use any more when it is rolled back.
   */
  numbers?(workflow: WorkflowName | null): Promise<{ readonly iid: Iid; readonly workflow: number }>
  /** Reads, only where the store itself may not answer while this transaction is open. */
  readonly reads?: Pick<WorkflowStore, 'find' | 'history'>
  /** Resolves when the transaction has ended, either way. Only where that can be seen from here. */
  ended?(): Promise<void>
  /** As `WorkflowStore.start`. */
  start(items: readonly StartItem[]): Promise<readonly Verdict[]>
  /** As `WorkflowStore.post`. */
  post(posts: readonly Post[]): Promise<readonly PostAnswer[]>
}

/** An instance as people see it. */
export interface InstanceRow {
  readonly iid: Iid
  readonly id: string
  readonly workflow: WorkflowName
  readonly execution: number
  /** `absent`: messages wait for it, but it was never started. `scheduled`: its time has not come. */
  readonly status: 'absent' | 'scheduled' | 'running' | 'suspended' | EndStatus
  /** When it wakes without a message; `null` when owned, ended, or waiting for messages only. */
  readonly wakeAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt: number | null
  /** Result or error, once ended. */
  readonly output: string | null
  /** Why it is suspended. */
  readonly report: string | null
  readonly parent: ParentLink | null
  readonly labels: string
  readonly progress: string | null
  /** How many messages wait. */
  readonly mail: number
}

/** A copy in memory, for comparing with what is stored. */
export interface Standing {
  readonly iid: Iid
  readonly epoch: number
  readonly execution: number
  readonly turn: number
}

/** Durable state of workflow instances. Must pass `describeWorkflowStore` of `holdfast/testing`. */
export interface WorkflowStore extends TaskStore {
  /** `sqlite`, `postgres`, …: for messages and logs. */
  readonly kind: string
  /** How processes tell each other what they did; without it they find out by ticks and looks. */
  readonly hints?: HintStore | undefined
  /** Why `transact` can never succeed here; `undefined` where it can. */
  readonly withoutTransactions?: string | undefined

  /** Connects and brings the schema up to date. Calling it again is harmless. */
  open(): Promise<void>
  /** Ends every connection. Later calls fail with `closed`. */
  close(): Promise<void>

  /** Takes in a new runtime, alive for `leaseMs`. */
  register(registration: Registration): Promise<Registered>
  /** Ends a runtime and frees all it owns and holds, at once. */
  unregister(runtime: number): Promise<void>
  /**
   * Looks after the lease of a runtime from a thread with a connection of its own, while the event
   * loop may stand still. Not every store can; `undefined` when this one cannot as it is set up.
   */
  keepLease?(request: LeaseRequest): LeaseKeeper | undefined
  /** The store's clock, in milliseconds since 1970: the only one that decides what is due. */
  now(): Promise<number>
  /**
   * Has `told` called before anything is sent to a server that has taken the place of another: that
   * one's latest writes may be missing there. What was asked for earlier fails, as if the connection
   * were lost. Not every store can.
   */
  onPromotion?(told: () => void): void
  /** Numbers for new instances: `count` of them, from the one returned. */
  reserve(count: number): Promise<Iid>
  /** Numbers for workflows that a client starts, in the order given. */
  workflowNumbers(workflows: readonly WorkflowName[]): Promise<readonly number[]>

  /** Starts instances for a client that owns nothing: `owned` must be false. `at` is the store's. */
  start(items: readonly StartItem[]): Promise<readonly Verdict[]>
  /** Applies what a runtime decided. See P2, P3, P4. */
  commit(batch: CommitBatch): Promise<CommitAnswer>
  /**
   * Takes ownership of what is due or has mail, raising its epoch. Ids only: `load` reads the rest.
   *
   * What two owners died with (`attempts` of 2 and more) is handed out one at a time: a runtime that
   * owns such an instance gets no other of them until that one got further.
   */
  claim(request: ClaimRequest): Promise<ClaimAnswer>
  /** Reads instances in one snapshot; unknown ones are left out. */
  load(wanted: readonly Wanted[]): Promise<readonly Loaded[]>
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
   * Puts messages into inboxes, in the order given. Never waits for an owner.
   *
   * With `tells`, for a client, a store may tell the owners by itself where that is quicker than a
   * hint afterwards, and says so in its answer.
   */
  post(
    posts: readonly Post[],
    options?: { readonly tells?: boolean },
  ): Promise<readonly PostAnswer[]>
  /** Renews the lease, declares runtimes dead whose lease ended, and says what there is to do. */
  tick(request: TickRequest): Promise<TickAnswer>
  /**
   * Which of these copies the store still has: the owner and epoch are the same, and the turn is
   * there. Also the server's identity.
   */
  verify(
    runtime: number,
    copies: readonly Standing[],
  ): Promise<{ readonly server: string; readonly same: readonly boolean[] }>
  /**
   * Sets unfinished instances aside, whoever owns them: nothing that owner sends has an effect any
   * more. Answers for each whether it was unfinished; suspending again only renews the report.
   */
  suspend(ids: readonly string[], report: string): Promise<readonly boolean[]>
  /**
   * Makes instances that were set aside claimable again, and their tasks, as if nobody had ever died
   * with them; returns how many were.
   */
  resume(ids: readonly string[]): Promise<number>
  /**
   * Ends unfinished instances at once, whoever owns them, as `terminated`: their parents are told,
   * their children closed. Answers for each whether it was unfinished.
   */
  terminate(terminations: readonly Termination[]): Promise<readonly boolean[]>
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
  /** The turns of one execution, in order; empty when there is none. */
  history(iid: Iid, execution: number): Promise<readonly TurnRow[]>
  /** Values that workflows keep, by the caller's id and the key. */
  readState(
    wanted: readonly { readonly id: string; readonly key: string }[],
  ): Promise<readonly (string | undefined)[]>
  /** Answers to requests. They are kept for an hour at least. */
  replies(to: readonly string[]): Promise<readonly (string | undefined)[]>
}
