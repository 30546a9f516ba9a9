import type { HintInterest } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { TaskKey } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import { wantedOf } from './task-owners.ts'
import { nextScheduleAt } from './schedules.ts'
import { nextTaskAt } from './task-lanes.ts'
import { outlook, ownMail } from './tick.ts'

/** The work that waits for a runtime. */
export interface PendingWork {
  readonly clock: number
  /** Own instances with messages. */
  readonly mail: readonly Iid[]
  /**
   * When something can be claimed: the store's time if that is now, `null` for nothing in sight.
   */
  readonly dueAt: number | null
  /** The same for tasks. */
  readonly tasksAt: number | null
  /** When a schedule has to be looked at. */
  readonly schedulesAt: number | null
  /** Attempts that are no longer wanted. */
  readonly dropped: readonly TaskKey[]
}

/**
 * The answer of a tick, without renewing anything: a process that notices a write of another one
 * must only read to find out what it was, or two processes would keep each other awake forever.
 */
export function pendingWork(tx: Transaction, interest: HintInterest): PendingWork {
  const { runtime, workflows, tasks, ownedTasks } = interest
  const wanted = wantedOf(tx, runtime, ownedTasks)
  const { claimable, nextDue } = outlook(tx, runtime, workflows)
  return {
    clock: tx.now,
    mail: ownMail(tx, runtime),
    dueAt: claimable ? tx.now : nextDue,
    tasksAt: tasks === null ? null : nextTaskAt(tx, tasks),
    schedulesAt: nextScheduleAt(tx),
    dropped: ownedTasks.filter((_, i) => !wanted[i]),
  }
}
