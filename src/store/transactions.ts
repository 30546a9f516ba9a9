import type { StartItem, Verdict } from './commits.ts'
import type { Post, PostAnswer } from './inbox.ts'
import type { Iid, WorkflowName } from './instances.ts'
import type { TaskKey } from './tasks.ts'
import type { WorkflowStore } from './workflow-store.ts'

/** User code whose effects and whose result are committed together. */
export interface Transact extends TaskKey {
  readonly runtime: number
  /**
   * What it is judged on: the epoch of the owner and the last turn that it has seen, which the
   * store must have; or the attempt of the owner of a task and its token.
   */
  readonly by:
    | { readonly epoch: number; readonly turn: number }
    | { readonly attempt: number; readonly token: number | null }
  /**
   * Runs inside the transaction, with the transaction object of the store; returns its result,
   * encoded.
   */
  readonly code: (tx: unknown) => string | Promise<string>
}

/**
 * What can be done inside a transaction that the caller commits. It takes no lock that owners wait
 * for.
 */
export interface StoreInTransaction {
  /**
   * Numbers for a new instance, and of its workflow unless that is `null`. Only if the store cannot
   * reserve them itself while this transaction is open; void when the transaction is rolled back.
   */
  numbers?(workflow: WorkflowName | null): Promise<{ readonly iid: Iid; readonly workflow: number }>
  /** Reads that see what this transaction did before, and never wait for its end. */
  readonly reads: Pick<WorkflowStore, 'find' | 'history'>
  /**
   * Resolves when the transaction has ended, either way. Only if that can be observed from here.
   */
  ended?(): Promise<void>
  /** As `WorkflowStore.start`. */
  start(items: readonly StartItem[]): Promise<readonly Verdict[]>
  /** As `WorkflowStore.post`. */
  post(posts: readonly Post[]): Promise<readonly PostAnswer[]>
}
