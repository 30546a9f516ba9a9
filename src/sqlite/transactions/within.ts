// The store inside a transaction that the user began on a handle of his own, and commits.
//
//   - Nothing is written outside of a transaction, where it would be committed by itself.
//   - Numbers, and what is read, come from inside the transaction, too: the store's own connection
//     may wait for its end, which comes only after this.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Iid, WorkflowName } from '../../store/instances.ts'
import type { StoreInTransaction } from '../../store/transactions.ts'
import type { Transaction } from '../file/database.ts'
import { start } from '../operations/commit.ts'
import { history } from '../operations/history.ts'
import { find } from '../operations/look.ts'
import { post } from '../operations/post.ts'
import { reserve, workflowNumbers } from '../operations/runtimes.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { checkLibrary } from './same-library.ts'
import { toStoreError } from '../connect/sqlite-error.ts'
import {
  checkHandle,
  checkPlace,
  type Handle,
  isInTransaction,
  saysSo,
  transactionOf,
} from './within-handle.ts'

// Nobody says when it ends, but looking costs nothing.
const LONGEST_SLEEP_MS = 50

/** The store of this file inside `tx`; throws a `TypeError` when that is no handle we know. */
export function withinTransaction(
  settings: SqliteSettings,
  tx: unknown,
  clockOffsetMs: number,
): StoreInTransaction {
  const handle = checkHandle(tx)
  let isChecked = false

  const within = <T>(work: (inside: Transaction) => T): T => {
    if (!isInTransaction(handle)) {
      throw new TypeError(
        'in: the handle is not inside a transaction: it has ended, or was never begun, and this would ' +
          'be committed by itself',
      )
    }
    if (!isChecked) {
      checkPlace(handle, settings)
      checkLibrary(handle, settings)
    }
    isChecked = true
    try {
      return work(transactionOf(handle, clockOffsetMs))
    } catch (error) {
      throw toStoreError('in', error)
    }
  }
  return {
    ...(saysSo(handle) && { ended: () => ended(handle) }),
    numbers: async (workflow: WorkflowName | null): Promise<{ iid: Iid; workflow: number }> =>
      within((inside) => ({
        iid: reserve(inside, 1),
        workflow: workflow === null ? 0 : workflowNumbers(inside, [workflow])[0]!,
      })),
    reads: {
      find: async (ids) => within((inside) => find(inside, ids)),
      history: async (iid, execution) => within((inside) => history(inside, iid, execution)),
    },
    start: async (items) => within((inside) => start(inside, items)),
    post: async (posts) => within((inside) => post(inside, posts)),
  }
}

async function ended(handle: Handle): Promise<void> {
  for (let ms = 1; isOpen(handle); ms = Math.min(ms * 2, LONGEST_SLEEP_MS)) {
    await sleep(ms, undefined, { ref: false })
  }
}

function isOpen(handle: Handle): boolean {
  try {
    return isInTransaction(handle)
  } catch {
    // Closed, which rolls back.
    return false
  }
}
