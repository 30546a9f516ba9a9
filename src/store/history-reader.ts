// Reads histories of a store without changing anything in it, not even its schema: for tools that
// look at a database of production. It needs no more than the right to select, and works on a standby.

import type { TurnRow } from './commits.ts'
import type { Iid, WorkflowName } from './instances.ts'

/** A workflow that instances of the store belong to. */
export interface RecordedWorkflow extends WorkflowName {
  /** Its number in the store. */
  readonly workflow: number
  /** How many of its instances have not ended. */
  readonly unfinished: number
}

/** An instance whose history can be read. */
export interface RecordedInstance {
  readonly iid: Iid
  readonly id: string
  /** The number of its workflow in the store. */
  readonly workflow: number
  /** Its latest execution. */
  readonly execution: number
}

/** Reads histories. Every method is one read-only transaction. */
export interface HistoryReader {
  /** All workflows that the store knows. */
  workflows(): Promise<readonly RecordedWorkflow[]>
  /**
   * Unfinished instances of a workflow, at most `limit`. If there are more, half of them are the
   * newest and half the oldest.
   */
  unfinished(workflow: number, limit: number): Promise<readonly RecordedInstance[]>
  /** The newest instances of each of these workflows that have ended, at most `limit` of each. */
  finished(workflows: readonly number[], limit: number): Promise<readonly RecordedInstance[]>
  /** The turns of one execution, in order. */
  turns(iid: Iid, execution: number): Promise<readonly TurnRow[]>
  close(): Promise<void>
}

/**
 * `finished` looks only at this many instances, the newest ones: there is no index by workflow, and
 * the search for a rare one must not read the whole table.
 */
export const RECENT_INSTANCES = 50_000

/** Puts together the newest and the oldest, leaving out what is in both. */
export function withoutRepeats(rows: readonly RecordedInstance[]): readonly RecordedInstance[] {
  return [...new Map(rows.map((row) => [row.iid, row])).values()]
}
