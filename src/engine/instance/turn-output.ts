import type { Effects } from '../../store/commits.ts'
import type { Event } from '../../store/history.ts'
import type { IssuedCommand } from '../replay/execution.ts'

/** The output of a turn. */
export interface TurnOutput {
  readonly events: readonly Event[]
  /** Commands to carry out once the turn is committed. */
  readonly issued: readonly IssuedCommand[]
  /** Inbox rows that it used. */
  readonly taken: readonly number[]
  /** Commands that the code no longer waits for. */
  readonly dropped: readonly number[]
  readonly effects: Effects | null
  /** The contexts of the spans that sent the messages it received, of those that were traced. */
  readonly traces?: readonly string[] | undefined
}

/** The output of a turn without effects. */
export const NO_OUTPUT: TurnOutput = {
  events: [],
  issued: [],
  taken: [],
  dropped: [],
  effects: null,
}
