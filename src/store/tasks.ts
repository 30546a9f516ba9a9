// Activities that wait for a runtime, whichever runtime owns their instance.
//
//   K1. A task is known by (instance, execution, command). A second one under that key is dropped.
//   K2. It is owned by a runtime, not until a time: it is free again when that runtime is dead, closes,
//       or gives it back. Only one with a limit on its silence is free again after that, too.
//   K3. What the holder writes is judged on (runtime, attempt). A completion is taken from anybody
//       while the task is there: the first one wins.
//   K4. A result goes into the inbox of its instance in the transaction that removes the task.
//   K5. A task has a random token, and whatever is written about it has to name that token. After a
//       failover that lost the latest writes the same key may belong to another call.

import type { Iid } from './instances.ts'

/** What a task is known by. */
export interface TaskKey {
  readonly iid: Iid
  readonly execution: number
  readonly command: number
}

/** How many tasks may be started, over all runtimes. Tasks with the same key share a limit. */
export interface TaskLimit {
  readonly key: string
  /** How many may have an owner at once; `null` for any number. */
  readonly concurrency: number | null
  /** A bucket of `count` starts that fills again evenly within `perMs`; `null` for no such limit. */
  readonly rate: { readonly count: number; readonly perMs: number } | null
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
  /** After this moment it is not handed out for the first time any more; `null` for no such limit. */
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

/** Tasks that a runtime would like to hold. */
export interface TaskRequest extends TaskInterest {
  readonly runtime: number
  readonly limit: number
  /** In how many sessions this runtime may hold tasks at once. */
  readonly maxSessions: number
  /** A session whose runtime owned no task of it for so long goes to the next runtime that claims one. */
  readonly sessionIdleMs: number
}

/** A task that the runtime which asked owns now. */
export interface ClaimedTask extends TaskKey {
  /** `NewTask.token`; `null` for a task that an older version made. */
  readonly token: number | null
  /** The instance's id, as callers know it. */
  readonly id: string
  readonly workflow: string
  readonly activity: string
  readonly input: string
  readonly tag: string
  readonly session: string
  readonly options: string
  /** The number of this attempt, from 1: what is written about the task is judged on it. */
  readonly attempt: number
  /** How often a runtime died while it owned the task. */
  readonly deaths: number
  /** The details of the last heartbeat, encoded; `null` for none. */
  readonly beat: string | null
}

/** What a claim of tasks brought. */
export interface TaskAnswer {
  readonly state: 'ok' | 'dead'
  readonly clock: number
  readonly tasks: readonly ClaimedTask[]
  /** When the next one may be handed out that cannot be now, by time alone; `null` for none. */
  readonly nextDue: number | null
}

/** How an attempt ended. */
export type TaskEnd =
  | { readonly kind: 'completed'; readonly payload: string }
  | { readonly kind: 'failed'; readonly payload: string }
  /** Another attempt follows, after so long. */
  | {
      readonly kind: 'retry'
      readonly delayMs: number
      /** What this one failed with, encoded: for people. */
      readonly error?: string
    }
  /** It was not run, which is not its fault: the attempt does not count. */
  | { readonly kind: 'release'; readonly delayMs: number }

/** What a runtime says about a task that it owned. */
export interface TaskResult extends TaskKey {
  /**
   * Of the task as it was claimed: one with another token is not meant (K5). Without one, only the
   * runtime and the attempt are compared, and only a task that has none either is completed.
   */
  readonly token: number | null
  readonly attempt: number
  readonly end: TaskEnd
}

/** What became of it. `gone`: the task is not there, or somebody else's. */
export interface TaskVerdict {
  readonly verdict: 'done' | 'gone'
  /** The runtime that owns the instance now, if any: it gets a hint of the result. */
  readonly owner: number | null
}

/** A sign of life of an attempt. */
export interface Beat extends TaskKey {
  /** Of the task as it was claimed, or as it is to be made; `null` is not compared. */
  readonly token: number | null
  readonly attempt: number
  /** Encoded; `null` keeps the details of the last heartbeat. */
  readonly details: string | null
  /** How long it may be silent from now on; `null` for ever. */
  readonly silentMs: number | null
  /**
   * Of an activity that runs at the owner of its instance, and is no task so far: makes it one, owned
   * by the runtime, if it owns the instance at this epoch.
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
  ownedTasks(runtime: number): Promise<readonly (TaskKey & { readonly attempt: number })[]>
  /** Records signs of life. Answers for each whether the attempt is still wanted. */
  beat(runtime: number, beats: readonly Beat[]): Promise<readonly boolean[]>
}
