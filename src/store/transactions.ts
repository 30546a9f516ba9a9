import type { StartItem, Verdict } from './commits.ts'
import type { Post, PostAnswer } from './inbox.ts'
import type { Iid, WorkflowName } from './instances.ts'
import type { TaskKey } from './tasks.ts'
import type { WorkflowStore } from './workflow-store.ts'

/** User code whose effects and whose result are committed together. */
export interface Transact extends TaskKey {
  readonly runtime: number
  /**
   * What it is judged on: the epoch of the owner and the last turn that it knows of, which the store
   * has to have; or the attempt of the holder of a task and its token.
   */
  readonly by:
    | { readonly epoch: number; readonly turn: number }
    | { readonly attempt: number; readonly token: number | null }
  /** Runs inside the transaction, with what the store's transactions are made of; its result, encoded. */
  readonly code: (tx: unknown) => string | Promise<string>
}

/** What can be done inside a transaction that somebody else commits. It takes no lock that owners wait for. */
export interface StoreInTransaction {
  /**
   * Numbers for a new instance, and of its workflow unless that is `null`. Only where the store itself
   * has none to give while this transaction is open; of no use any more when it is rolled back.
   */
  numbers?(workflow: WorkflowName | null): Promise<{ readonly iid: Iid; readonly workflow: number }>
  /** Reads that see what this transaction did before, and never wait for its end. */
  readonly reads: Pick<WorkflowStore, 'find' | 'history'>
  /** Resolves when the transaction has ended, either way. Only where that can be seen from here. */
  ended?(): Promise<void>
  /** As `WorkflowStore.start`. */
  start(items: readonly StartItem[]): Promise<readonly Verdict[]>
  /** As `WorkflowStore.post`. */
  post(posts: readonly Post[]): Promise<readonly PostAnswer[]>
}
