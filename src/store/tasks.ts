// Activities that wait for a runtime, whichever runtime owns their instance.
//
//   K1. A task is identified by (instance, execution, command). A second one with that key is
//       dropped.
//   K2. A runtime owns it without a time limit: it becomes free when that runtime is dead, closes,
//       or gives it back. Only a task with a heartbeat timeout also becomes free when no heartbeat
//       arrives in time.
//   K3. What the owner writes is judged on (runtime, attempt). A completion is accepted from any
//       runtime while the task exists: the first one wins.
//   K4. A result goes into the inbox of its instance in the transaction that removes the task.
//   K5. A task has a random token, and every write about it has to name that token. After a
//       failover that lost the latest writes the same key may belong to another call.

import type { Iid } from './instances.ts'
import type { Rate } from './rates.ts'

/** The key of a task. */
export interface TaskKey {
  readonly iid: Iid
  readonly execution: number
  readonly command: number
}

/** An attempt at a task. */
export interface TaskAttempt extends TaskKey {
  readonly attempt: number
}

/** How many tasks may be started, over all runtimes. Tasks with the same key share a limit. */
export interface TaskLimit {
  readonly key: string
  /** How many may have an owner at once; `null` for any number. */
  readonly concurrency: number | null
  /** A bucket of `count` starts that fills again evenly within `perMs`; `null` for no such limit. */
  readonly rate: Rate | null
}

/** A task that a turn asks for. */
export interface NewTask {
  readonly command: number
  /** A random integer; the same each time this task is sent. See K5. */
  readonly token: number
  readonly activity: string
  /** Encoded. */
  readonly input: string
  /** Only runtimes that serve this tag run it; empty for none. */
  readonly tag: string
  /** All tasks of a session go to one runtime; empty for none. */
  readonly session: string
  /** How it is run, as the engine writes it; the store does not look into it. */
  readonly options: string
  /** Attempts that failed so far. */
  readonly attempts: number
  /** After this time it is no longer handed out for the first time; `null` for no such limit. */
  readonly startBy: number | null
  readonly limit: TaskLimit | null
}

/** A task of an instance, as its owner sees it. */
export interface OpenTask {
  readonly command: number
  /** Attempts that were started. */
  readonly attempts: number
  /** Whether a runtime owns it now. */
  readonly isOwned: boolean
}

/** Which tags a runtime serves. */
export interface ServedTags {
  /** Whether tasks without a tag are served. */
  readonly untagged: boolean
  readonly tags: 'any' | readonly string[]
}

/** What a runtime can run. */
export interface TaskInterest {
  /** Activities whose code is here. */
  readonly activities: readonly string[]
  readonly served: ServedTags
}

/** A request for tasks. */
export interface TaskRequest extends TaskInterest {
  readonly runtime: number
  readonly limit: number
  /** In how many sessions this runtime may hold tasks at once. */
  readonly maxSessions: number
  /**
   * After this time without an own task of it, a session goes to the next runtime that claims one.
   */
  readonly sessionIdleMs: number
}

/** A task that the runtime that asked now owns. */
export interface ClaimedTask extends TaskKey {
  /** `NewTask.token`; `null` for a task that an older version made. */
  readonly token: number | null
  /** The instance's id, as callers use it. */
  readonly id: string
  readonly workflow: string
  readonly activity: string
  readonly input: string
  readonly tag: string
  readonly session: string
  readonly options: string
  /** The number of this attempt, from 1: writes about the task are judged on it. */
  readonly attempt: number
  /** How often a runtime died while it owned the task. */
  readonly deaths: number
  /** The details of the last heartbeat, encoded; `null` for none. */
  readonly beat: string | null
}

/** The answer to a claim of tasks. */
export interface TaskAnswer {
  readonly state: 'ok' | 'dead'
  readonly clock: number
  readonly tasks: readonly ClaimedTask[]
  /**
   * When the next task that cannot be handed out now may be, judged by time alone; `null` for none.
   */
  readonly nextDue: number | null
}

/** How an attempt ended. */
export type TaskEnd =
  | { readonly kind: 'completed'; readonly payload: string }
  | { readonly kind: 'failed'; readonly payload: string }
  /** Another attempt follows, after this delay. */
  | {
      readonly kind: 'retry'
      readonly delayMs: number
      /** The error of this attempt, encoded: for clients and logs. */
      readonly error?: string
    }
  /** It was not run, through no fault of its own: the attempt does not count. */
  | { readonly kind: 'release'; readonly delayMs: number }

/** What a runtime says about a task that it owned. */
export interface TaskResult extends TaskKey {
  /**
   * The token of the task as it was claimed: a task with another token is another call (K5).
   * Without one, only the runtime and the attempt are compared, and only a task that has no token
   * either is completed.
   */
  readonly token: number | null
  readonly attempt: number
  readonly end: TaskEnd
}

/** The verdict on a result. `gone`: the task no longer exists, or another runtime owns it. */
export interface TaskVerdict {
  readonly verdict: 'done' | 'gone'
  /** The runtime that owns the instance now, if any: it gets a hint of the result. */
  readonly owner: number | null
}

/** A heartbeat of an attempt. */
export interface Beat extends TaskKey {
  /** The token of the task as it was claimed, or as it is to be created; `null` is not compared. */
  readonly token: number | null
  readonly attempt: number
  /** Encoded; `null` keeps the details of the last heartbeat. */
  readonly details: string | null
  /** How long until the next heartbeat is overdue; `null` for no limit. */
  readonly silentMs: number | null
  /**
   * For an activity that runs at the owner of its instance and is not a task yet: makes it a task,
   * owned by the runtime, if the runtime owns the instance at this epoch.
   */
  readonly local: { readonly epoch: number; readonly task: NewTask } | null
}

/** Tasks: a part of `WorkflowStore`. */
export interface TaskStore {
  /**
   * Hands out tasks, oldest first, each to one runtime. Those that a runtime died with twice are
   * handed out one at a time: while this runtime owns one of them, it gets no other of them.
   */
  claimTasks(request: TaskRequest): Promise<TaskAnswer>
  /** Takes the results of attempts. See K3, K4. */
  finishTasks(runtime: number, results: readonly TaskResult[]): Promise<readonly TaskVerdict[]>
  /** The attempts that this runtime owns: finds what a lost answer left behind. */
  ownedTasks(runtime: number): Promise<readonly TaskAttempt[]>
  /** Records heartbeats. Returns for each whether the attempt is still wanted. */
  beat(runtime: number, beats: readonly Beat[]): Promise<readonly boolean[]>
}
