import type { Iid, WorkflowName } from './instances.ts'
import type { TaskInterest, TaskKey } from './tasks.ts'
import type { RuntimeServes } from './whereabouts.ts'

/** A workflow whose code a runtime has. */
export interface RegisteredWorkflow extends WorkflowName {
  /** How long its instances are kept after their end; for ever when it is left out. */
  readonly retentionMs?: number | undefined
}

/** A runtime that introduces itself. */
export interface RegisterRequest {
  readonly leaseMs: number
  readonly workflows: readonly RegisteredWorkflow[]
  /** For people: host, process id, version of the package, with a space between them. */
  readonly info: string
  /** For people: what it can run. */
  readonly serves?: RuntimeServes | undefined
}

/** A runtime as the store knows it. */
export interface Registered {
  readonly runtime: number
  readonly server: string
  readonly clock: number
  /** The numbers of the workflows, in the order they were given. */
  readonly workflows: readonly number[]
}

/** What became of a lease that was to be renewed. */
export interface LeaseAnswer {
  /** `dead`: the runtime was declared dead, was closed, or is unknown. */
  readonly state: 'ok' | 'dead'
  readonly clock: number
}

/** What a runtime says every few seconds. */
export interface TickRequest {
  readonly runtime: number
  readonly workflows: readonly number[]
  /** What it can run; `null` when it runs no tasks. */
  readonly tasks: TaskInterest | null
  /** Activities that it has no code for, as far as it could find out: nothing is `stranded` by them. */
  readonly unknown: readonly string[]
  /** Attempts it is busy with: whether they are still wanted is answered. */
  readonly ownedTasks: readonly (TaskKey & { readonly attempt: number })[]
  /** Whether it has room for more, and nothing to do. */
  readonly idle: boolean
}

/** Messages that were removed because nobody will receive them, by when they came. */
export interface UndeliveredMessages {
  /** After the end: the sender looked before it, and committed after it. */
  readonly late: number
  /** For an instance that was never started: `UNSTARTED_KEPT_MS` after the newest of them. */
  readonly early: number
}

/** What the store answers: the bound on every lost hint. */
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
      /** When the next task can be had, by time alone: `clock` or earlier for now, `null` for none. */
      readonly nextTask: number | null
      /**
       * Instances of these workflows that nobody owns, with a task that waits for an activity which is
       * neither among `tasks` nor `unknown`, a few of them: who runs one finds out whether it has the
       * code. They can be claimed when hinted at.
       */
      readonly stranded: readonly Iid[]
      /** For each attempt of `ownedTasks` whether it is still wanted, and still this runtime's. */
      readonly wanted: readonly boolean[]
      /** Of the activities of `tasks`, those that another live runtime could run, which is idle. */
      readonly helped: readonly string[]
      /** How many messages this tick removed. */
      readonly undelivered: UndeliveredMessages
      /** Whether the next tick should come soon: there is more of what a tick does, or hints are lost. */
      readonly soon: boolean
    }
  | { readonly state: 'dead'; readonly clock: number }
