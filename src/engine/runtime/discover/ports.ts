// What discovery needs of services that depend on it. They satisfy these interfaces as they are.

import type { TaskAttempt, TaskInterest, TaskKey } from '../../../store/tasks.ts'

/** What the ActivityPool says and gets to know about tasks. */
export interface PoolServices {
  readonly slots: {
    /** Whether no activity waits for a slot, and at most half of the slots are taken. */
    readonly idle: boolean
  }
  readonly claimer: {
    /** Which tasks this runtime can run; `null` when it runs none. */
    readonly interest: TaskInterest | null
    /** There may be tasks at this moment of store time. */
    wakeAt(at: number): void
  }
  readonly tasks: { readonly owned: OwnedTaskSet }
  readonly longWaits: {
    /** Another runtime is idle that could run these activities. */
    helpedWith(activities: readonly string[]): void
  }
}

/** The tasks that this runtime owns: OwnedTasks. */
export interface OwnedTaskSet {
  keys(): readonly TaskAttempt[]
  /** These attempts are no longer wanted. */
  abort(keys: readonly TaskAttempt[]): void
  /** Stops those of these tasks that the store says are not wanted. Returns how many. */
  abortUnwanted(keys: readonly TaskKey[]): Promise<number>
  /** Other runtimes own all of them now. */
  supersede(reason: string): void
}
