// What the scheduler needs of services that depend on it. They satisfy these interfaces as they are.

import type { Announcement } from '../../../store/hints.ts'
import type { Iid } from '../../../store/instances.ts'
import type { NewTask, TaskKey } from '../../../store/tasks.ts'
import type { ActivityWork } from '../../instance/activity-work.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

/** Finds work, and notifies other processes of work for them: the WorkFinder. */
export interface Finder {
  /** These instances, which any runtime may own, may have mail. */
  look(iids: readonly Iid[]): void
  readonly claimer: {
    /** Something is due at this moment of store time and no runtime owns it. */
    claimAt(at: number): void
    /** These may be claimable now. */
    hint(iids: readonly Iid[]): void
    /** Claims now, if there is room. */
    wake(): void
    /** An instance is no longer owned here. */
    left(iid: Iid): void
    /** The store may still say that an evicted instance is owned here. */
    doubt(): void
    /** Compares what the store says is owned here with memory. */
    reconcile(): void
  }
  readonly hints: {
    /** Something of an instance changed that other processes may wait for. */
    changed(iid: Iid): void
    /** An instance ended, which is its last change. */
    ended(iid: Iid): void
    /** There are new tasks in the store. */
    announceTasks(tasks: readonly NewTask[]): void
    announce(announcement: Announcement): void
  }
}

/** Runs activities: the ActivityPool. */
export interface ActivityServices {
  readonly activities: {
    /** Starts an attempt, at once or when a slot is free. */
    start(instance: LiveInstance, command: number, work: ActivityWork, attempt: number): void
    /** Gives up all attempts that wait for a slot: the runtime is closing. */
    giveUpWaiting(): void
  }
  readonly claimer: {
    /** There may be tasks to claim. */
    wake(): void
  }
  readonly tasks: {
    readonly owned: {
      /** The results of these tasks are no longer wanted. */
      abort(keys: readonly TaskKey[]): void
    }
  }
}
