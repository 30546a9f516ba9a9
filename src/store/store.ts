import type { WorkflowStore } from './workflow-store.ts'

/** Where state is kept: made by `holdfast/sqlite` or `holdfast/postgres`, given to `open`. */
export interface Store {
  /** `sqlite`, `postgres`, …: for messages and logs. */
  readonly kind: string
}

/** The key of the method by which the engine gets at what a `Store` stands for. */
export const OPEN_WORKFLOW_STORE: unique symbol = Symbol.for('holdfast.openWorkflowStore')

/** What every `Store` of this package is inside. Connects to nothing until it is asked to. */
export interface StoreHandle extends Store {
  /** A workflow store of its own for the caller, who opens and closes it. */
  [OPEN_WORKFLOW_STORE](): WorkflowStore
}
