// What people and tools ask of all instances, tasks and runtimes: reads that examine a bounded number
// of rows at a time, and the removal of what is no longer wanted. None of it holds a lock from one call
// to the next.
//
//   A1. A search examines at most as many rows as it is asked to. Where it stopped is part of the answer,
//       so that any filter is processed in short statements, whatever the table contains.
//   A2. A search returns what was there when it began, each once, also while others start instances.
//   A3. What is removed is removed with all its rows and all its descendants in one transaction, or not
//       at all.

import type { Ending, Iid, InstanceRow, WorkflowName } from './instances.ts'
import type { RuntimeServes } from './whereabouts.ts'

/** The status of an instance that was started. */
export type StartedStatus = Exclude<InstanceRow['status'], 'unstarted'>

/** Which instances to find. What is `null` or empty restricts nothing. */
export interface InstanceQuery {
  /** The name of the workflow. */
  readonly workflow: string | null
  readonly version: string | null
  readonly statuses: readonly StartedStatus[] | null
  /** Labels that the instance has, with these values. */
  readonly labels: readonly (readonly [name: string, value: string])[]
  /** From this time on. */
  readonly createdFrom: number | null
  /** Before this time; so are all other `…Until`. */
  readonly createdUntil: number | null
  readonly finishedFrom: number | null
  readonly finishedUntil: number | null
  /** The id of the parent. */
  readonly parent: string | null
  readonly idPrefix: string | null
  /** Only instances that are at this execution or a later one. */
  readonly minExecution: number
  /** By the time of creation. */
  readonly order: 'newest' | 'oldest'
}

/** A place in the order of a search. */
export interface SearchPosition {
  readonly createdAt: number
  readonly iid: Iid
}

/** How far a search goes. */
export interface SearchPage {
  /** Only what comes behind it; `null` for the beginning. */
  readonly after: SearchPosition | null
  /** How many to return; 0 to count only. */
  readonly limit: number
  /** How many rows to examine. */
  readonly scan: number
}

/** What a search has found. */
export interface Found {
  /** The instances, in order. */
  readonly iids: readonly Iid[]
  /** How many match: as many as `iids`, or with the limit 0 all among the examined. */
  readonly matched: number
  /** Where to continue; `null` at the end. */
  readonly next: SearchPosition | null
}

/** An execution of an instance, from its history. */
export interface ExecutionRow {
  readonly execution: number
  /** The times of its first and its last turn. */
  readonly startedAt: number
  readonly lastTurnAt: number
  readonly turns: number
  readonly events: number
  /** The size of its events, in bytes. */
  readonly bytes: number
}

/** What is stored for an instance besides its histories. */
export interface UsageRow {
  readonly stateKeys: number
  readonly stateBytes: number
  /** Messages that wait. */
  readonly messages: number
  readonly messageBytes: number
  readonly tasks: number
}

/**
 * What became of a removal. `wanted`: its parent runs and may look for it, whether the instance has ended
 * or not. `running`: the instance, or a descendant, has not ended, and can be removed once it has.
 */
export type RemovalVerdict = 'removed' | 'running' | 'wanted' | 'unknown'

/** The answer to a removal of an instance with its descendants. */
export interface Removal {
  readonly verdict: RemovalVerdict
  /** How many instances were removed. */
  readonly count: number
}

/** Which executions to remove of an instance. */
export interface PruneRequest {
  readonly iids: readonly Iid[]
  /** How many executions stay, the current one among them: at least 1. */
  readonly keep: number
  /** Only executions whose last turn was before this time; `null` for all. */
  readonly endedUntil: number | null
}

/** How many instances of a workflow there are in a state. */
export interface WorkflowDepth extends WorkflowName {
  readonly status: 'scheduled' | 'running' | 'suspended' | Exclude<Ending['status'], 'completed'>
  readonly count: number
}

/** How many tasks there are of an activity and a tag. */
export interface TaskDepth {
  readonly activity: string
  /** Empty for none. */
  readonly tag: string
  /** Tasks that no runtime owns: those that can be taken now, and those whose time has not come. */
  readonly waiting: number
  readonly delayed: number
  readonly running: number
  /** Since when the oldest that could be taken now waits, by the last turn of its instance. */
  readonly oldestAt: number | null
}

/** How much there is to do. */
export interface Depths {
  readonly clock: number
  readonly workflows: readonly WorkflowDepth[]
  readonly tasks: readonly TaskDepth[]
  /** When the instance that has been due longest became due; `null` when none is. */
  readonly oldestDueAt: number | null
  /** Rows in inboxes: what owners have not read yet, and what is parked. */
  readonly messages: { readonly waiting: number; readonly parked: number }
}

/** A runtime that is, or was, registered. */
export interface RuntimeRow {
  readonly runtime: number
  readonly info: string
  readonly state: 'alive' | 'dead'
  readonly leaseUntil: number
  /** `null` if an earlier build registered it. */
  readonly registeredAt: number | null
  /** Instances and tasks that it owns. */
  readonly instances: number
  readonly tasks: number
  readonly workflows: readonly WorkflowName[]
  /** `null` if it does not say. */
  readonly serves: RuntimeServes | null
  /** Activities without a tag that it can run, as of its last tick. */
  readonly activities: readonly string[]
}

/** All runtimes that are registered or died lately, by the store's clock. */
export interface Fleet {
  readonly clock: number
  readonly runtimes: readonly RuntimeRow[]
}

/** Which tasks to find. What is `null` restricts nothing. */
export interface TaskQuery {
  readonly activity: string | null
  /** Empty for tasks without a tag. */
  readonly tag: string | null
  readonly session: string | null
  /** The id of the instance. */
  readonly instance: string | null
  readonly state: 'waiting' | 'delayed' | 'running' | null
}

/** A place in the order of tasks. */
export interface TaskPosition {
  readonly iid: Iid
  readonly execution: number
  readonly command: number
}

/** A task, for people. */
export interface TaskRow extends TaskPosition {
  readonly id: string
  readonly workflow: string
  readonly activity: string
  readonly tag: string
  /** Empty for none. */
  readonly session: string
  /** The runtime that has the session; `null` for none. */
  readonly sessionOf: number | null
  readonly attempts: number
  readonly deaths: number
  readonly owner: number | null
  readonly ownedSince: number | null
  /** When it can be taken; `null` for now. */
  readonly visibleAt: number | null
  readonly error: string | null
}

/** What tasks a search has found. */
export interface FoundTasks {
  readonly tasks: readonly TaskRow[]
  readonly next: TaskPosition | null
}

/** Administration: a part of `WorkflowStore`. */
export interface AdminStore {
  /** Finds instances. See A1, A2. */
  search(query: InstanceQuery, page: SearchPage): Promise<Found>
  /**
   * An instance with all its descendants, each after its parent, siblings by their creation; at most
   * `limit`. With `fromRoot`, the same for its topmost ancestor. Empty when there is no such instance.
   */
  tree(
    iid: Iid,
    options: { readonly fromRoot: boolean; readonly limit: number },
  ): Promise<readonly Iid[]>
  /** The executions of an instance that have a history, in order. */
  executions(iid: Iid): Promise<readonly ExecutionRow[]>
  /** What is stored for an instance. */
  usage(iid: Iid): Promise<UsageRow>
  /**
   * Removes instances that have ended, each with its descendants. See A3. With `together`, none is
   * removed unless all can be; then the counts are 0.
   */
  removeTrees(
    iids: readonly Iid[],
    options: { readonly together: boolean },
  ): Promise<readonly Removal[]>
  /** Removes histories of earlier executions; returns how many executions those were. */
  prune(request: PruneRequest): Promise<number>
  /** How much there is to do. Reads all unfinished instances and all tasks. */
  depths(): Promise<Depths>
  /** All runtimes. Reads all unfinished instances. */
  fleet(): Promise<Fleet>
  /** Finds tasks, in the order of their keys. Examines at most `scan`. */
  findTasks(
    query: TaskQuery,
    page: { readonly after: TaskPosition | null; readonly limit: number; readonly scan: number },
  ): Promise<FoundTasks>
}
