import type { TurnRow } from './commits.ts'
import type { InboxRow } from './inbox.ts'
import type { Iid, ParentLink, WorkflowName } from './instances.ts'
import type { OpenTask } from './tasks.ts'

/** What a runtime would like to own. */
export interface ClaimRequest {
  readonly runtime: number
  readonly workflows: readonly number[]
  readonly limit: number
  /** Instances named by hints: claimed first. */
  readonly hinted: readonly Iid[]
}

/** An instance that is now owned by the runtime that asked. */
export interface Claim {
  readonly iid: Iid
  readonly epoch: number
  readonly execution: number
  /** Its last turn. An instance in memory that is at the same turn needs no load. */
  readonly turn: number
  /** How often an owner died with it without getting any further. */
  readonly deaths: number
  /** What its last owner was about to do, see `aboutTo`; empty for nothing. */
  readonly doing: string
}

/** What a claim brought. */
export interface ClaimAnswer {
  readonly state: 'ok' | 'dead'
  readonly clock: number
  readonly claims: readonly Claim[]
  /**
   * Not claimed: their starts named no version, and the store has now given them one that is not
   * among `workflows`, but that another live runtime registers. The caller has to send a hint to
   * that runtime.
   */
  readonly passed: readonly Iid[]
  /**
   * Not claimed: their workflow has a limit with keys, and they were started by a sender that does not
   * have its code. The caller computes the keys and calls `setLimitKeys`.
   */
  readonly unkeyed?: readonly Iid[]
  /** Whether there are more limits to judge than one call does: the caller should claim again. */
  readonly hasMore?: boolean
  /**
   * When the next instance of these workflows falls due, or `null`. Not after `clock` if more is
   * due than was claimed, or another transaction has it locked.
   */
  readonly nextDue: number | null
}

/** An instance to be read. */
export interface LoadRequest {
  readonly iid: Iid
  /** Only turns after this one: 0 for all. An instance in memory has the others. */
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

/** An instance in memory, to be compared with what is stored. */
export interface CachedInstance {
  readonly iid: Iid
  readonly epoch: number
  readonly execution: number
  readonly turn: number
}
