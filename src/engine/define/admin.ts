import type { AnyWorkflow } from './definitions.ts'
import type { InstanceInfo, Status } from './instance.ts'

/** Which instances. An instance has to match everything that is given; `{}` matches all of them. */
export interface Filter {
  /** A definition or the name of a workflow, in all its versions. */
  workflow?: AnyWorkflow | string
  /** A version of the workflow. */
  version?: string
  /** One status, or any of several. */
  status?: Status | readonly Status[]
  /** Labels that the instance was started with, with exactly these values. */
  labels?: Readonly<Record<string, string>>
  /** Created at this time or later. */
  createdAfter?: Date
  /** Created before this time. */
  createdBefore?: Date
  /** Ended at this time or later. */
  finishedAfter?: Date
  /** Ended before this time. */
  finishedBefore?: Date
  /** Children of the instance with this id. */
  parentId?: string
  /** The id begins with this text. */
  idPrefix?: string
}

/** Which part of a list. */
export interface Page {
  /** The most items. @default 100 */
  limit?: number
  /** The `next` of the page before. @default the first page */
  after?: string
  /** By the time of creation. @default 'newest' */
  order?: 'newest' | 'oldest'
}

/** A page of a list. */
export interface Listing<T> {
  readonly items: readonly T[]
  /** Pass it as `after` to get the next page; missing on the last one. */
  readonly next?: string
}

/** Instances by their ids, or all that match a filter. */
export type Which = readonly string[] | Filter

/**
 * Finds, changes and removes instances, and shows the tasks and runtimes of a store.
 *
 * Methods that take a filter process it in pages, even while runtimes are busy: each statement is short,
 * and no lock is held from one page to the next. What matches when the call begins is reached; what is
 * started later is not. A call that was cut off can be repeated.
 */
export interface Admin {
  /** Counts instances. */
  count(filter?: Filter): Promise<number>
  /**
   * Returns an instance and all its descendants, each after its parent; with `from: 'root'`, those of
   * its topmost ancestor, so that any member finds the whole tree. Instances that a workflow started
   * independently (`ctx.start`) are not descendants. Throws a `NotFoundError` for an unknown id, and a
   * `RangeError` for a tree of more than 10,000 instances.
   */
  tree(id: string, options?: TreeOptions): Promise<readonly InstanceInfo[]>
  /** Returns the executions of an instance whose history is stored, in order. */
  executions(id: string): Promise<readonly ExecutionInfo[]>
  /** Returns how much is stored for an instance. */
  usage(id: string): Promise<InstanceUsage>
  /** Requests the cancellation of instances; returns how many of them had not ended. */
  cancel(which: Which, reason?: string): Promise<number>
  /** Ends instances at once, without clean-up; returns how many of them had not ended. */
  terminate(which: Which, reason?: string): Promise<number>
  /** Pauses instances until they are resumed; returns how many of them had not ended. */
  suspend(which: Which, reason?: string): Promise<number>
  /** Lets suspended instances continue; returns how many were suspended. */
  resume(which: Which): Promise<number>
  /**
   * Removes instances that have ended, each with its descendants in one transaction; returns how many
   * instances were removed, descendants included. With `force`, what has not ended is terminated first.
   *
   * Of ids, those that do not exist are left out, and one that cannot be removed throws a
   * `ConflictError`: it has not ended, or a descendant has not, or it is a child whose parent runs and
   * may still look for it. A filter leaves such instances out.
   */
  delete(which: Which, options?: DeleteOptions): Promise<number>
  /**
   * Removes the histories of earlier executions; returns of how many. The current execution stays, and
   * so do results, state, progress and messages.
   */
  prune(options?: PruneOptions): Promise<number>
  /** Returns how much there is to do, and for how long it has been waiting. */
  stats(): Promise<Stats>
  /** Returns the figures of `stats` as flat names with numbers, for monitoring. */
  metrics(): Promise<Readonly<Record<string, number>>>
  /** Returns the runtimes that are registered, and those that died in the last days. */
  runtimes(): Promise<readonly RuntimeInfo[]>
  /** Returns the workflows, by name and version, that live runtimes serve or that have unfinished instances. */
  workflows(): Promise<readonly WorkflowInfo[]>
  /** Returns what waits for code that no live runtime has, and why. */
  unserved(): Promise<readonly Unserved[]>
  /** Lists the activities that wait for a runtime or run in one, by instance. */
  tasks(filter?: TaskFilter, page?: Pick<Page, 'limit' | 'after'>): Promise<Listing<TaskInfo>>
  /**
   * Groups the latest failed and suspended instances by what went wrong: workflow, name of the error, and
   * its message without numbers, ids, email addresses and quoted strings. The most frequent come first.
   */
  errors(filter?: Filter, options?: ErrorsOptions): Promise<readonly ErrorGroup[]>
}

/** Options of `admin.tree`. */
export interface TreeOptions {
  /** Where the tree begins. @default 'instance' */
  from?: 'instance' | 'root'
}

/** Options of `admin.delete`. */
export interface DeleteOptions {
  /** Terminates what has not ended. @default false */
  force?: boolean
}

/** Options of `admin.prune`. */
export interface PruneOptions {
  /** Instances to prune. @default all that have continued as new */
  which?: Which
  /** How many executions to keep of each instance, the current one among them. @default 1 */
  keepExecutions?: number
  /** Only executions that ended before this time. @default all but those kept */
  finishedBefore?: Date
}

/** An execution of an instance. */
export interface ExecutionInfo {
  /** Its number, from 1. */
  readonly execution: number
  /** `continued`: another execution followed. */
  readonly status: Status | 'continued'
  readonly startedAt: Date
  /** Missing while it runs. */
  readonly finishedAt?: Date
  readonly turns: number
  readonly events: number
  /** The size of its history, in bytes. */
  readonly historyBytes: number
}

/** How much is stored for an instance. */
export interface InstanceUsage {
  /** Executions that have a history. */
  readonly executions: number
  /** Of all these executions. */
  readonly events: number
  readonly historyBytes: number
  readonly stateKeys: number
  readonly stateBytes: number
  /** Messages that wait for it. */
  readonly messages: number
  readonly messageBytes: number
  /** Activities that wait for a runtime or run in one as tasks. */
  readonly tasks: number
}

/** How much there is to do. Times are by the store's clock. */
export interface Stats {
  readonly at: Date
  /** Unfinished instances, and those that did not complete, by workflow, version and status. */
  readonly instances: readonly {
    readonly workflow: string
    readonly version: string
    readonly status: Exclude<Status, 'completed'>
    readonly count: number
  }[]
  /** Activities that other runtimes may run, by name and tag. */
  readonly tasks: readonly {
    readonly activity: string
    /** Empty for none. */
    readonly tag: string
    /** Could be taken now. */
    readonly waiting: number
    /** Wait for their time, such as that of a retry. */
    readonly delayed: number
    readonly running: number
    /** For how long the instance of the oldest has waited without a turn, in milliseconds. */
    readonly oldestMs: number
  }[]
  /** For how long the oldest instance has been due, in milliseconds; 0 when none is due. */
  readonly oldestDueMs: number
  /** Messages and results that instances have not read. */
  readonly messages: {
    /** Their instance will read them next. */
    readonly waiting: number
    /** Their instance has no use for them so far, or was never started. */
    readonly parked: number
  }
  /** All suspended instances. */
  readonly suspended: number
}

/** A runtime. */
export interface RuntimeInfo {
  readonly id: number
  readonly host: string
  readonly pid: number
  /** The version of Holdfast that it runs. */
  readonly version: string
  /** `silent`: its lease has expired, and no other runtime has noticed yet. `dead`: others took over. */
  readonly state: 'alive' | 'silent' | 'dead'
  readonly leaseUntil: Date
  /** Missing for one that an earlier version registered. */
  readonly startedAt?: Date
  /** How many instances and tasks it owns. */
  readonly instances: number
  readonly tasks: number
  readonly workflows: readonly { readonly name: string; readonly version: string }[]
  /** Activities that it was given, and those that its workflows have called. */
  readonly activities: readonly string[]
  /** The tags that it serves; `'*'` for any. */
  readonly tags: readonly string[]
  /** Whether it runs activities without a tag. */
  readonly untagged: boolean
}

/** A version of a workflow. */
export interface WorkflowInfo {
  readonly name: string
  /** Empty for instances that no runtime has taken up, and that were started without a version. */
  readonly version: string
  readonly scheduled: number
  readonly running: number
  readonly suspended: number
  /** Of how many live runtimes it is registered. */
  readonly servedBy: number
}

/** Something that waits for code that no live runtime has. */
export interface Unserved {
  readonly kind: 'workflow' | 'activity'
  /** The name of the workflow or activity. */
  readonly name: string
  /** The version of the workflow; empty for any, and for activities. */
  readonly version: string
  /** The tag of the activity; empty for none, and for workflows. */
  readonly tag: string
  /** How many instances or activities wait. */
  readonly waiting: number
  /** What is missing, for people. */
  readonly reason: string
}

/** Which tasks. */
export interface TaskFilter {
  /** The name of the activity. */
  activity?: string
  /** The tag; `''` for activities without one. */
  tag?: string
  session?: string
  /** The id of the instance. */
  instanceId?: string
  state?: TaskInfo['state']
}

/** An activity that waits for a runtime or runs in one. */
export interface TaskInfo {
  readonly instanceId: string
  readonly workflow: string
  readonly execution: number
  readonly activity: string
  /** Empty for none. */
  readonly tag: string
  /** Empty for none. */
  readonly session: string
  /** The runtime that has the session, if any. */
  readonly sessionRuntime?: number
  /** `waiting`: could be taken now. `delayed`: its time has not come. */
  readonly state: 'waiting' | 'delayed' | 'running'
  /** The number of the attempt that runs or is next, from 1. */
  readonly attempt: number
  /** How often a runtime died while it ran it. */
  readonly deaths: number
  /** The runtime that runs it. */
  readonly runtime?: number
  /** Since when it runs there. */
  readonly since?: Date
  /** When it can be taken, for a delayed one. */
  readonly nextAt?: Date
  /** What its last attempt failed with. */
  readonly error?: { readonly name: string; readonly message: string }
}

/** Options of `admin.errors`. */
export interface ErrorsOptions {
  /** How many of the latest instances to look at. @default 1000 */
  limit?: number
}

/** Instances with the same error. */
export interface ErrorGroup {
  /** Stays the same for the same workflow and kind of error. */
  readonly fingerprint: string
  readonly workflow: string
  readonly name: string
  /** The message of the latest. */
  readonly message: string
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** The id of the latest instance with this error. */
  readonly latestId: string
  /** How many of them are suspended and can be resumed. */
  readonly suspended: number
  /** The ids of all of them, the latest first: what `admin.resume` and the like take. */
  readonly ids: readonly string[]
}
