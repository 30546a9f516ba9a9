import type { Iid, WorkflowName } from './instances.ts'
import type { Rate } from './rates.ts'
import type { TaskInterest, TaskAttempt } from './tasks.ts'
import type { RuntimeServes } from './whereabouts.ts'

/** The limit of a workflow. At least one of `concurrency` and `rate` is set. */
export interface WorkflowLimit {
  /** How many instances may be admitted and unfinished at once; `null` for any number. */
  readonly concurrency: number | null
  readonly rate: Rate | null
  /** Whether each key has a limit of its own. */
  readonly keyed: boolean
}

/** A workflow whose code a runtime has. */
export interface RegisteredWorkflow extends WorkflowName {
  /** How long its instances are kept after they end; forever if it is left out. */
  readonly retentionMs?: number | undefined
  /**
   * Limits how many of its instances run, of all versions: read of the entry without a version. The
   * runtime that registers last decides. No limit if it is left out.
   */
  readonly limit?: WorkflowLimit | undefined
}

/** A runtime that registers. */
export interface RegisterRequest {
  readonly leaseMs: number
  readonly workflows: readonly RegisteredWorkflow[]
  /** Host, process id and version of the package, separated by spaces: for logs and `doctor`. */
  readonly info: string
  /** What it can run: for clients that ask why an instance waits. */
  readonly serves?: RuntimeServes | undefined
}

/** A registered runtime. */
export interface Registered {
  readonly runtime: number
  readonly server: string
  readonly clock: number
  /** The numbers of the workflows, in the order they were given. */
  readonly workflows: readonly number[]
}

/** The answer to a renewal. */
export interface LeaseAnswer {
  /** `dead`: the runtime was declared dead, was closed, or is unknown. */
  readonly state: 'ok' | 'dead'
  readonly clock: number
}

/** What a runtime sends every few seconds. */
export interface TickRequest {
  readonly runtime: number
  readonly workflows: readonly number[]
  /** What it can run; `null` when it runs no tasks. */
  readonly tasks: TaskInterest | null
  /**
   * Activities that it has no code for, as far as it could find out: they make nothing `stranded`.
   */
  readonly unknown: readonly string[]
  /** Attempts that it runs: the answer says whether they are still wanted. */
  readonly ownedTasks: readonly TaskAttempt[]
  /** Whether it has room for more, and nothing to do. */
  readonly idle: boolean
}

/** Messages that were removed because no code will receive them, by the time they arrived. */
export interface UndeliveredMessages {
  /** After the instance had ended: the sender checked before the end, and committed after it. */
  readonly late: number
  /** For an instance that was never started: `UNSTARTED_KEPT_MS` after the newest of them. */
  readonly early: number
}

/** The answer to a tick. It limits how long a lost hint can delay work. */
export type TickAnswer =
  | {
      readonly state: 'ok'
      readonly clock: number
      readonly server: string
      /** Own instances with messages. */
      readonly mail: readonly Iid[]
      /** Whether something of these workflows can be claimed now. */
      readonly claimable: boolean
      /** When the next one falls due, or `null`. */
      readonly nextDue: number | null
      /** When the next task is claimable, by time alone: `clock` or earlier for now, `null` for none. */
      readonly nextTask: number | null
      /** When a schedule has to be looked at: `clock` or earlier for now, `null` for none. */
      readonly nextSchedule: number | null
      /**
       * A few instances of these workflows that have no owner, with a task that waits for an
       * activity which is neither among `tasks` nor `unknown`: a runtime that runs one of them
       * finds out whether it has the code. They can be claimed as `hinted`.
       */
      readonly stranded: readonly Iid[]
      /** For each attempt of `ownedTasks` whether it is still wanted, and still this runtime's. */
      readonly wanted: readonly boolean[]
      /** Those activities of `tasks` that another live runtime could run, which is idle. */
      readonly helped: readonly string[]
      /** How many messages this tick removed. */
      readonly undelivered: UndeliveredMessages
      /**
       * Whether the next tick should come soon: there is more work for a tick, or hints get lost.
       */
      readonly soon: boolean
    }
  | { readonly state: 'dead'; readonly clock: number }
