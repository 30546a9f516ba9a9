// A transaction that the user began on their own handle, and commits.
//
//   - Nothing is written outside of a transaction, where it would be committed by itself.
//   - Numbers, and what is read, come from inside the transaction, too: the store's own connection
//     may wait for its end, which comes only after this.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from '../file/database.ts'
import type { StorePlace } from '../file/store-place.ts'
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

// There is no event for its end, but checking costs nothing.
const LONGEST_SLEEP_MS = 50

/** The inside of a transaction of the user. */
export interface UserTransaction {
  /** Does something inside; throws a `TypeError` when it has ended. */
  readonly within: <T>(work: (inside: Transaction) => T) => T
  /** Resolves when it has ended, either way. Only where the handle says so. */
  readonly ended?: () => Promise<void>
}

/** The transaction of `tx` on the file of a store; throws a `TypeError` when that is no handle we know. */
export function userTransaction(
  { settings, shared }: StorePlace,
  tx: unknown,
  clockOffsetMs: () => number,
): UserTransaction {
  const handle = checkHandle(tx)
  let isChecked = false
  return {
    ...(saysSo(handle) && { ended: () => ended(handle) }),
    within(work) {
      if (!isInTransaction(handle)) {
        throw new TypeError(
          'in: the handle is not inside a transaction: it has ended or was never begun, and this would ' +
            'commit on its own',
        )
      }
      if (!isChecked && handle !== (shared?.database.connection as unknown)) {
        checkPlace(handle, settings)
        checkLibrary(handle, settings)
      }
      isChecked = true
      try {
        return work(transactionOf(handle, (shared?.now() ?? Date.now()) + clockOffsetMs()))
      } catch (error) {
        throw toStoreError('in', error)
      }
    },
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
