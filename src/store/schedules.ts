// Schedules: what starts instances at due times.
//
//   - The store keeps, for each schedule, its next due time. It computes none: that takes time zones.
//   - A due time is dealt with by one call of `fire`, which compares what its caller has read
//     (`revision`, `due`), starts the instance and moves on to the next due time, in one transaction.
//     However many runtimes call it, one of them succeeds.
//   - Due times are dealt with in order.

import type { StartItem, Verdict } from './commits.ts'
import type { Iid, WorkflowName } from './instances.ts'

/** What happens at a due time while an instance that the schedule started has not ended. */
export type Overlap = 'skip' | 'queue' | 'allow'

/** A schedule as a client sets it. */
export interface NewSchedule {
  readonly name: string
  /** Unique. A firing that was computed from an earlier one is refused. */
  readonly revision: string
  /** The number of the workflow. */
  readonly workflow: number
  /** When it is due: opaque. */
  readonly timing: string
  /** What it starts, and how: opaque. */
  readonly template: string
  /** Its first due time, and the moment that intervals are counted from, if `timing` is new. */
  readonly nextAt: number
  readonly anchor: number
}

/** A schedule as it is stored. */
export interface ScheduleRow extends NewSchedule {
  readonly workflowName: WorkflowName
  readonly paused: boolean
  /** When a runtime has to look at it; `null` while it is paused. */
  readonly wakeAt: number | null
  /** The store's time when `nextAt` was computed: later than now if its clock was turned back since. */
  readonly setAt: number
  readonly createdAt: number
  /** When a client last changed it. */
  readonly updatedAt: number
  /** The latest start: its due time, or when it was triggered, and the id of the instance. */
  readonly lastAt: number | null
  readonly lastId: string | null
  /** How many due times had which outcome. */
  readonly started: number
  readonly skipped: number
  readonly missed: number
  /** When that last happened. */
  readonly skippedAt: number | null
  readonly missedAt: number | null
  /** Why it could not be fired the last time; `null` if it could. */
  readonly error: string | null
  readonly errorAt: number | null
  /** Unfinished instances that it started; of many, the latest `MAX_SCHEDULE_RUNNING`. */
  readonly running: readonly { readonly iid: Iid; readonly id: string }[]
}

/** What is to be dealt with now. */
export interface DueSchedules {
  readonly clock: number
  readonly schedules: readonly ScheduleRow[]
  /** When the next of the others has to be looked at. */
  readonly next: number | null
}

/** One or more due times of a schedule, to be dealt with. */
export interface Firing {
  readonly name: string
  /** As they were read: otherwise the firing is refused. */
  readonly revision: string
  readonly due: number
  /** How many due times from `due` on are too long ago. */
  readonly missed: number
  /** The due time after these, for which to start an instance; `null` if all were missed. */
  readonly at: number | null
  readonly start: StartItem | null
  /** The next due time after `at`. */
  readonly nextAt: number
  /** The store's time from which all of this was computed, see `ScheduleRow.setAt`. */
  readonly setAt: number
  readonly overlap: Overlap
  /** For `skip`: how many due times have passed from `at` on, and the next one after them. */
  readonly passed: number
  readonly nextAfterPassed: number
}

/**
 * `started` · `exists`: the id is taken, and the due time counts as skipped · `skipped` and `waiting`: an
 * earlier instance has not ended · `missed`: there was nothing to start. All of these are recorded.
 *
 * Of the others nothing is: `refused`: the schedule was changed, paused, removed or fired meanwhile ·
 * `unstarted`, `renumber` and `locked`: as `unstarted`, `refused` and `locked` for a start.
 */
export type FiringVerdict =
  | 'started'
  | 'exists'
  | 'skipped'
  | 'waiting'
  | 'missed'
  | 'refused'
  | 'unstarted'
  | 'renumber'
  | 'locked'

/** Sets the next due time of a schedule, and whether it is paused. */
export interface Move {
  readonly name: string
  /** As they were read: otherwise it is refused. */
  readonly revision: string
  readonly due: number
  readonly nextAt: number
  /** The store's time from which `nextAt` was computed, see `ScheduleRow.setAt`. */
  readonly setAt: number
  readonly paused: boolean
}

/** Schedules: a part of every workflow store. */
export interface ScheduleStore {
  /**
   * Creates a schedule, or changes the one with this name, which stays paused if it is. With the same
   * workflow, timing and template, changes nothing. With the same timing, keeps the next due time.
   */
  put(schedule: NewSchedule): Promise<'created' | 'changed' | 'unchanged'>
  /** The schedules with these names, or all, by name. Unknown ones are left out. */
  read(names?: readonly string[]): Promise<readonly ScheduleRow[]>
  /** Deletes a schedule; returns whether there was one. Its instances continue. */
  remove(name: string): Promise<boolean>
  /** Returns whether it was applied. */
  move(move: Move): Promise<boolean>
  /**
   * Schedules to look at now, up to `limit`, beginning with the one that waits the longest; those with
   * these names that are not paused; and those whose next due time was set more than an hour from now,
   * because the store's clock was turned back.
   */
  due(limit: number, names: readonly string[]): Promise<DueSchedules>
  /** Deals with due times: one verdict for each firing. */
  fire(firings: readonly Firing[]): Promise<readonly FiringVerdict[]>
  /** Records why a runtime cannot fire a schedule at this due time. It stays due, for others. */
  fail(schedule: Pick<Firing, 'name' | 'revision' | 'due'>, error: string): Promise<void>
  /** Starts an instance now, whatever its due times. `refused` if the schedule was changed meanwhile. */
  trigger(schedule: Pick<Firing, 'name' | 'revision'>, start: StartItem): Promise<Verdict>
}
