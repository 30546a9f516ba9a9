import type { HistoryReader } from './history-reader.ts'
import type { WorkflowStore } from './workflow-store.ts'

/** Where state is kept: made by `holdfast/sqlite` or `holdfast/postgres`, given to `open`. */
export interface Store {
  /** `sqlite`, `postgres`, …: for messages and logs. */
  readonly kind: string
}

/** The key of the method by which the engine opens the workflow store behind a `Store`. */
export const OPEN_WORKFLOW_STORE: unique symbol = Symbol.for('holdfast.openWorkflowStore')

/** The key of the method by which tools read the histories in a `Store`. */
export const OPEN_HISTORY_READER: unique symbol = Symbol.for('holdfast.openHistoryReader')

/** What every `Store` of this package is inside. Connects to nothing until it is asked to. */
export interface StoreHandle extends Store {
  /** A new workflow store. The caller opens and closes it. */
  [OPEN_WORKFLOW_STORE](): WorkflowStore
  /** A new reader of the histories in it. The caller closes it. */
  [OPEN_HISTORY_READER]?(): HistoryReader
}
