// Hints between processes: what one of them did that another one may be waiting for.
//
//   - A hint is never needed. Whoever gets none finds out by its next tick, or its next look: a
//     lost one costs time, never work. So telling never fails, and nothing waits for it.
//   - It is sent after the commit that it is about, and outside of it.
//   - Whoever listens does so before the look that may find nothing: `look` is called when hints
//     are sure to be heard from now on, and again each time they were not for a while.
//   - Within a process a hint is a function call; only what concerns others comes through here.

import type { Clock } from '../base/time/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Iid } from './instances.ts'
import type { TaskInterest, TaskKey } from './tasks.ts'

/** Something that other processes should know. The store finds out which. */
export type Announcement =
  /** These have mail: for their owners, or for runtimes that could own them. */
  | { readonly kind: 'mail'; readonly iids: readonly Iid[] }
  /** Nobody owns these, and they are due: now, or when the store has noted. */
  | { readonly kind: 'due'; readonly iids: readonly Iid[] }
  /** There are new tasks of these activities. */
  | { readonly kind: 'tasks'; readonly activities: readonly TaskCount[] }
  /** These tasks are no longer needed: for the runtimes that own them. */
  | { readonly kind: 'dropped'; readonly tasks: readonly TaskKey[] }
  /** These were changed from outside: instances in memory are out of date. */
  | { readonly kind: 'recalled'; readonly iids: readonly Iid[] }
  /** Something may have become free for anybody. */
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

/** What is heard from others. */
export type Hint =
  /**
   * There is something to do for these: now, or `at` a moment of store time that is not 0. None, with
   * a moment: for any. None without one: look everywhere.
   */
  | { readonly kind: 'work'; readonly iids: readonly Iid[]; readonly at: number }
  /** There are tasks of these activities: now, or `at` a moment of store time. None: of any. */
  | { readonly kind: 'tasks'; readonly activities: readonly string[]; readonly at: number }
  | { readonly kind: 'dropped'; readonly tasks: readonly TaskKey[] }
  | { readonly kind: 'recalled'; readonly iids: readonly Iid[] }
  /** Callers at `to` wait for changes of these. */
  | { readonly kind: 'waiting'; readonly iids: readonly Iid[]; readonly to: string }
  /** These have changed. None: any may have. */
  | { readonly kind: 'changed'; readonly iids: readonly Iid[] }
  /** A process has begun to listen, and does not know who waits. */
  | { readonly kind: 'joined' }

/** The runtime that sends a hint, and whether it has room for the work itself: then no other needs the hint. */
export interface Teller {
  /** 0 for a client. */
  readonly runtime: number
  readonly hasRoom: boolean
}

/** What a listener wants to hear of. */
export interface HintInterest {
  /** 0 for a client. */
  readonly runtime: number
  readonly workflows: readonly number[]
  readonly tasks: TaskInterest | null
  /** Attempts of tasks that it is busy with, and would stop if they were no longer needed. */
  readonly ownedTasks: readonly (TaskKey & { readonly attempt: number })[]
}

/** A listener. */
export interface HintReceiver {
  readonly clock: Clock
  readonly log: Logger
  /** Asked again at each use: a runtime that was declared dead has another number. */
  interest(): HintInterest
  hear(hint: Hint): void
  /** Anything may have happened unheard: asks the store. Answers whether there was anything to do. */
  look(): Promise<boolean>
}

/** How listening to other processes goes. */
export interface NotifierHealth {
  /**
   * `connecting`: not yet, or not at the moment · `listening`: hints are heard · `deaf`: there is a
   * connection, but hints do not come through it, so that the store is asked now and then · `off`:
   * there are no hints · `closed`: it has ended.
   */
  readonly state: 'connecting' | 'listening' | 'deaf' | 'off' | 'closed'
  /** How often hints could not be heard for a while. */
  readonly interruptions: number
  /** What the latest failure said, until hints are heard again. */
  readonly lastError?: string
}

/** Somebody is listening. */
export interface Listening {
  /** Whether hints are heard at present: otherwise callers that wait have to ask the store. */
  readonly hears: boolean
  health(): NotifierHealth
  /** The interest has changed. */
  refresh(): void
  close(): Promise<void>
}

/** Hints: a part that a store may have. */
export interface HintStore {
  /** Tells others, soon: hints that come together go together. Never fails: a lost hint costs time, never work. */
  tell(news: Announcement, teller: Teller): void
  /** Listens until it is closed, whatever happens to connections. */
  listen(listener: HintReceiver): Listening
}
