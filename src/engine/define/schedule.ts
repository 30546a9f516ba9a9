import type { Duration } from '../../base/time/duration.ts'
import type { Instance, StartOptions } from './instance.ts'

/** When a schedule starts instances. Give either `cron` or `every`. */
export interface Schedule {
  /**
   * A cron pattern: minute, hour, day of the month, month, weekday; or six fields, with seconds before
   * them. If both days are restricted, either of them matches.
   *
   * @example `'30 9 * * MON-FRI'` is due at half past nine on every weekday.
   */
  cron?: string
  /**
   * The time between two starts, at least a second. It is counted from the moment the schedule was
   * created, or was last given another interval.
   */
  every?: Duration
  /**
   * The time zone of `cron`, such as `Europe/Berlin`. If wall clocks are set forward, a time that they
   * skip is due when they are set. If they are set back, a time that they show twice is due the first
   * time; both times if the field for hours begins with `*`.
   *
   * @default 'UTC'
   */
  timezone?: string
  /**
   * What happens at a due time while an instance that the schedule started has not ended: `skip` leaves
   * the due time out; `queue` starts it when the earlier ones have ended, in order, one at a time;
   * `allow` starts it at once.
   *
   * @default 'skip'
   */
  overlap?: 'skip' | 'queue' | 'allow'
  /**
   * How late a due time may still be started, after a time without a running runtime or in a queue. What
   * is later is left out and counted as missed. Ten seconds are never too late.
   *
   * @default '1h'
   */
  catchUp?: Duration
}

/** Options for the instances that a schedule starts. Each gets an id of its own. */
export type ScheduledStartOptions = Omit<StartOptions, 'id' | 'onConflict'>

/** A schedule, as `schedules.list` and `schedules.get` return it. */
export interface ScheduleInfo extends Schedule {
  readonly name: string
  /** The name of the workflow that it starts. */
  readonly workflow: string
  /** The version that it starts; without one, the latest. */
  readonly version?: string
  readonly paused: boolean
  /**
   * The next five due times. The first is in the past while it waits in a queue, or no runtime is
   * running. None while the schedule is paused.
   */
  readonly nextRuns: readonly Date[]
  /** The latest start: its due time, or when it was triggered. */
  readonly lastRun?: { readonly at: Date; readonly instanceId: string }
  /** The ids of instances that it started and that have not ended; of many, the latest hundred. */
  readonly running: readonly string[]
  /** How many instances it has started, including those that were triggered. */
  readonly started: number
  /**
   * How many due times were left out because an instance was running, or their id was taken, and when that
   * last happened.
   */
  readonly skipped: { readonly count: number; readonly last?: Date }
  /**
   * How many due times were left out because they were longer ago than `catchUp`, and when that was last
   * noticed. Of one interruption, a thousand are counted at most.
   */
  readonly missed: { readonly count: number; readonly last?: Date }
  /** Why it could not be fired the last time. It is tried again every minute, and when it is changed. */
  readonly lastError?: { readonly at: Date; readonly message: string }
  readonly createdAt: Date
  /** When `client.schedule` last changed it. */
  readonly updatedAt: Date
}

/** Controls schedules. */
export interface Schedules {
  /** All schedules, by name. */
  list(): Promise<readonly ScheduleInfo[]>
  /** The schedule with this name; `undefined` if there is none. */
  get(name: string): Promise<ScheduleInfo | undefined>
  /**
   * Starts nothing until the schedule is resumed. Throws a `NotFoundError` if there is none.
   */
  pause(name: string): Promise<void>
  /**
   * Continues with the next due time. Those that passed while the schedule was paused are left out.
   * Throws a `NotFoundError` if there is none.
   */
  resume(name: string): Promise<void>
  /**
   * Starts an instance now, whatever `overlap` says, and even if the schedule is paused. Due times stay
   * as they are. Throws a `NotFoundError` if there is no such schedule.
   */
  trigger(name: string): Promise<Instance>
  /** Deletes a schedule; returns whether there was one. Instances that it started continue. */
  delete(name: string): Promise<boolean>
}
