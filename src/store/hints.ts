// Hints between processes: what one of them did that another may be waiting for.
//
//   - A hint is never required. A process that misses one finds the work with its next tick or
//     poll: a lost hint costs time, never work. So sending one never fails, and nothing waits for
//     it.
//   - A hint is sent after the commit that it is about, in a transaction of its own.
//   - A listener starts to listen before it polls: `poll` is called once hints are certain to
//     arrive, and again after each gap.
//   - Within a process a hint is a function call; only hints to other processes come through here.

import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Iid } from './instances.ts'
import type { TaskInterest, TaskAttempt, TaskKey } from './tasks.ts'

/** Something that concerns other processes. The store finds out which. */
export type Announcement =
  /** These have mail: for their owners, or for runtimes that could own them. */
  | { readonly kind: 'mail'; readonly iids: readonly Iid[] }
  /** These have no owner and are due: now, or at the time that the store has recorded. */
  | { readonly kind: 'due'; readonly iids: readonly Iid[] }
  /** There are new tasks of these activities. */
  | { readonly kind: 'tasks'; readonly activities: readonly TaskCount[] }
  /** These tasks are no longer needed: for the runtimes that own them. */
  | { readonly kind: 'dropped'; readonly tasks: readonly TaskKey[] }
  /** These were changed from outside: instances in memory are out of date. */
  | { readonly kind: 'recalled'; readonly iids: readonly Iid[] }
  /** Something may have become free for any runtime. */
  | { readonly kind: 'freed' }
  /** There is something to claim that the sender has no room for. */
  | { readonly kind: 'overflow' }
  /** A caller here waits for changes of these: their end, answers, progress. */
  | { readonly kind: 'waiting'; readonly iids: readonly Iid[] }
  /** These have changed: for the callers at `to` that wait for it. */
  | { readonly kind: 'changed'; readonly to: string; readonly iids: readonly Iid[] }

/** Tasks of one activity. */
export interface TaskCount {
  readonly activity: string
  readonly count: number
  /** Whether a tag or a session decides which runtimes can run them: then all of them get the hint. */
  readonly pinned: boolean
}

/** A hint from another process. */
export type Hint =
  /**
   * There is something to do for these: now, or `at` a moment of store time that is not 0. None, with
   * a moment: for any. None without one: look everywhere.
   */
  | { readonly kind: 'work'; readonly iids: readonly Iid[]; readonly at: number }
  /** There are tasks of these activities: now, or `at` a moment of store time. None: of any. */
  | { readonly kind: 'tasks'; readonly activities: readonly string[]; readonly at: number }
  /** A schedule has to be looked at `at` a moment of store time. */
  | { readonly kind: 'schedules'; readonly at: number }
  | { readonly kind: 'dropped'; readonly tasks: readonly TaskKey[] }
  | { readonly kind: 'recalled'; readonly iids: readonly Iid[] }
  /** Callers at `to` wait for changes of these. */
  | { readonly kind: 'waiting'; readonly iids: readonly Iid[]; readonly to: string }
  /** These have changed. None: any may have. */
  | { readonly kind: 'changed'; readonly iids: readonly Iid[] }
  /** A process has begun to listen, and has not seen earlier `waiting` hints. */
  | { readonly kind: 'joined' }
  /** Messages of an outbox in these partitions: now, or `at` a time of the store. None: in any. */
  | { readonly kind: 'messages'; readonly partitions: readonly number[]; readonly at: number }

/** The runtime that sends a hint, and whether it has room for the work itself: then no other needs the hint. */
export interface HintOrigin {
  /** 0 for a client. */
  readonly runtime: number
  readonly hasRoom: boolean
}

/** Which hints a listener needs. */
export interface HintInterest {
  /** 0 for a client. */
  readonly runtime: number
  readonly workflows: readonly number[]
  readonly tasks: TaskInterest | null
  /** Attempts of tasks that it is busy with, and would stop if they were no longer needed. */
  readonly ownedTasks: readonly TaskAttempt[]
}

/** A listener. */
export interface HintReceiver {
  readonly clock: Clock
  readonly log: Logger
  /** Whose hints it receives, instead of those for runtimes and clients. */
  readonly recipients?: readonly string[]
  /** Asked again at each use: a runtime that was declared dead has another number. */
  interest(): HintInterest
  receive(hint: Hint): void
  /** Hints may have been missed: polls the store. Returns whether there was anything to do. */
  poll(): Promise<boolean>
}

/** The state of listening to other processes. */
export interface NotifierHealth {
  /**
   * `connecting`: not listening yet, or not at the moment · `listening`: hints arrive · `deaf`:
   * there is a connection, but hints do not arrive through it, so the store is polled · `off`:
   * hints are turned off · `closed`: the listener was closed.
   */
  readonly state: 'connecting' | 'listening' | 'deaf' | 'off' | 'closed'
  /** How often hints stopped arriving for a while. */
  readonly interruptions: number
  /** The message of the latest failure, until hints arrive again. */
  readonly lastError?: string
}

/** One listener, from `listen` to `close`. */
export interface HintSubscription {
  /** Whether hints arrive at present: if not, callers that wait have to poll the store. */
  readonly isListening: boolean
  health(): NotifierHealth
  /** The interest has changed. */
  refresh(): void
  close(): Promise<void>
}

/** Hints: a part that a store may have. */
export interface HintStore {
  /**
   * Sends hints to other processes, soon: several at once go in one call. Never fails: a lost hint
   * costs time, never work.
   */
  announce(announcement: Announcement, origin: HintOrigin): void
  /** Listens until it is closed, whatever happens to connections. */
  listen(listener: HintReceiver): HintSubscription
}
