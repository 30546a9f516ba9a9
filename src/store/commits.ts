import type { Ending, Iid, ParentLink } from './instances.ts'
import type { NewTask } from './tasks.ts'

/** One turn as it is stored: one row of history. */
export interface TurnRow {
  readonly execution: number
  /** 1 for the first turn of an execution. */
  readonly turn: number
  /** When the turn ran, by the store's clock. Never less than the turn before. */
  readonly at: number
  /** Number of its first event within the execution, from 1. */
  readonly first: number
  /** How many events it has. */
  readonly count: number
  /** The events, as `history.ts` writes them. */
  readonly events: string
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

/** Which turns of an execution to read. */
export interface HistoryPage {
  /** Only turns with events behind the one of this number. */
  readonly after: number
  /** How many turns, at most. */
  readonly limit: number
}

/** What a turn does beyond its own history. Applied with it, or not at all. */
export interface Effects {
  /** Inbox rows that no code waits for: they stay, and no longer make the instance claimable. */
  readonly parked: readonly number[]
  /**
   * Children to be closed, each as its link says (a `cancel` or `terminate` row in its inbox): those
   * of these commands of the execution, or all that are unfinished. A child gets one such row.
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
  /** Commands of the execution whose tasks are no longer needed, whichever runtime owns them. */
  readonly dropsTasks: readonly number[]
}

/** A new instance. Its first turn has at least the `started` event. */
export interface StartItem {
  /** From `reserve`, so that a start sent again is recognised. */
  readonly iid: Iid
  /** What the caller calls it; unique. */
  readonly id: string
  readonly workflow: number
  /**
   * True: owned by the sending runtime at epoch 1. False: any runtime may claim it from `wakeAt`
   * on. If its workflow has a limit, an owned start is answered with `locked`: the sender did not know
   * of the limit, and has to send it unowned.
   */
  readonly owned: boolean
  /** When it is due; only for one that is not owned. */
  readonly wakeAt: number | null
  /** Of the starts of a workflow that are due, higher ones are claimed first; 0 if it is left out. */
  readonly priority?: number
  /** The key for the limit of its workflow; left out if the sender does not know it. */
  readonly limitKey?: string | undefined
  readonly turn: TurnRow
  /** Set when it ended within its first turn. */
  readonly end: Ending | null
  readonly parent: ParentLink | null
  /** For people and filters: a JSON object with string values. */
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
  /** It is suspended with a report until it is resumed. */
  | { readonly kind: 'suspend'; readonly report: string }
  /** It has ended. Its parent gets the result, and its inbox is emptied. */
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
 * `exists`: the id is taken by another instance. `unstarted`: messages arrived for the id earlier,
 * under another number; the caller has to send the start again with that number, which `find`
 * returns. `refused`: the sender is not, or no longer, the owner of the instance, or of the
 * unfinished parent of a start; or a start that was to be owned and is sent again is recorded, but
 * was taken over since. `locked`: another transaction has locked the id of a start. Nothing was
 * done: the caller sends it again later, separately. `untried`: other starts
 * of the batch were locked, and finding them took too long. Nothing was done: the caller sends it
 * again at once.
 */
export type Verdict = 'done' | 'refused' | 'exists' | 'unstarted' | 'locked' | 'untried'

/** How starts are sent that are not part of a commit. */
export interface StartBatchOptions {
  /**
   * The runtime that owns the parents of these instances. A start whose parent has another owner is
   * refused.
   */
  readonly runtime?: number
  /** They were locked before, and may still be. */
  readonly wereLocked?: boolean
}

/** The outcome of a batch. */
export type CommitAnswer =
  | {
      readonly state: 'ok'
      readonly clock: number
      readonly starts: readonly Verdict[]
      readonly turns: readonly Verdict[]
      /**
       * Instances that are due now, because others ended that left them no place under the limit of
       * their workflow. The caller has to send hints of them.
       */
      readonly woken?: readonly Iid[]
    }
  /** The runtime was declared dead; nothing was written. */
  | { readonly state: 'dead'; readonly clock: number }
  /** The server is another one than before; nothing was written. */
  | { readonly state: 'verify'; readonly clock: number; readonly server: string }
