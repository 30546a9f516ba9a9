import type { HintInterest } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import type { TaskKey } from '../../store/tasks.ts'
import type { Transaction } from '../file/database.ts'
import { wantedOf } from './task-owners.ts'
import { nextTaskAt } from './task-lanes.ts'
import { outlook, ownMail } from './tick.ts'

/** What there is to do for a runtime. */
export interface PendingWork {
  readonly clock: number
  /** Own instances with messages. */
  readonly mail: readonly Iid[]
  /** When something can be claimed: the store's time for now, `null` for nothing in sight. */
  readonly dueAt: number | null
  /** The same for tasks. */
  readonly tasksAt: number | null
  /** Attempts that nobody wants any more. */
  readonly dropped: readonly TaskKey[]
}

/**
 * What a tick would tell, without renewing anything: whoever notices that somebody else wrote must
 * not write to find out what, or two processes would keep each other awake for ever.
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
    dropped: ownedTasks.filter((_, i) => !wanted[i]),
  }
}
