import type { StateChange, TurnRow } from './commits.ts'
import type { Iid } from './instances.ts'

/** An instance to be ended from outside. */
export interface Termination {
  readonly id: string
  /** The error that its waiters and its parent get. */
  readonly output: string
  /** The events of its last turn, as `history.ts` writes them: one. */
  readonly events: string
}

/** What terminations did, and which instances need a hint. */
export interface Terminated {
  /** Of each, whether it was unfinished. */
  readonly ended: readonly boolean[]
  /** Parents and children that may have mail because of it. */
  readonly mail: readonly Iid[]
  /** Whether any had tasks: runtimes that run one can stop, and run other tasks instead. */
  readonly hadTasks: boolean
  /**
   * Instances that are due because of it: they waited for places under a limit. Empty if the store has
   * notified runtimes itself.
   */
  readonly woken: readonly Iid[]
}

/** An instance made from a history. It has no owner and is due at once. */
export interface ImportItem {
  readonly iid: Iid
  readonly id: string
  readonly workflow: number
  readonly labels: string
  /** As in a start. */
  readonly limitKey?: string | undefined
  /** All of one execution, from its first turn on. */
  readonly turns: readonly TurnRow[]
  /** Its state as of the last turn. */
  readonly state: readonly StateChange[]
}
