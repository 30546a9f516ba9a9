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

/** What terminations did, and whom to tell. */
export interface Terminated {
  /** Of each, whether it was unfinished. */
  readonly ended: readonly boolean[]
  /** Parents and children that may have mail because of it. */
  readonly mail: readonly Iid[]
  /** Whether any had tasks: runtimes that run one can stop, and run other tasks instead. */
  readonly hadTasks: boolean
}

/** An instance made from a history. Nobody owns it; it is due at once. */
export interface ImportItem {
  readonly iid: Iid
  readonly id: string
  readonly workflow: number
  readonly labels: string
  /** All of one execution, from its first turn on. */
  readonly turns: readonly TurnRow[]
  /** Its state as of the last turn. */
  readonly state: readonly StateChange[]
}
