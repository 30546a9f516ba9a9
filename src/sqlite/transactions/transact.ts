// User code in a transaction of its own: its SQL and its result are committed together, or not at
// all.
//
//   - From BEGIN to COMMIT nothing is awaited: a process that is stopped in between holds up every
//     other one on the file. So the code is synchronous.
//   - What the code throws is thrown as it is, after a rollback.

import { catchRejection } from '../../base/thenable.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transact } from '../../store/transactions.ts'
import type { Database, Transaction } from '../file/database.ts'
import type { StorePlace } from '../file/store-place.ts'
import { OwnConnection } from './own-connection.ts'
import { mayTransact, storeResult } from './transact-judge.ts'
import { TransactStatements } from './transact-statements.ts'

/** Runs transactions on a file. */
export class SqliteTransactor {
  readonly #connection: OwnConnection

  constructor({ settings, shared }: StorePlace) {
    this.#connection = new OwnConnection(settings, shared)
  }

  /** Why there can be no transactions; `undefined` when there can. */
  get unable(): string | undefined {
    return this.#connection.unable
  }

  /** See `WorkflowStore.transact`. */
  async transact(work: Transact, clockOffsetMs: number): Promise<'done' | 'refused'> {
    return this.#connection.untilFree('sqlite transact', (database) =>
      this.#attempt(database, work, clockOffsetMs),
    )
  }

  /** Ends the connection. */
  close(): void {
    this.#connection.close()
  }

  /** Tries once; returns the error when the file is locked. */
  #attempt(
    database: Database,
    work: Transact,
    clockOffsetMs: number,
  ): 'done' | 'refused' | StoreError {
    let end = 'refused' as 'done' | 'refused'
    let thrown: { readonly error: unknown } | undefined
    try {
      database.write('sqlite transact', clockOffsetMs, (tx) => {
        if (!mayTransact(tx, work)) return
        try {
          storeResult(tx, work, this.#run(tx, work.code))
        } catch (error) {
          thrown = { error }
          throw error
        }
        end = 'done'
      })
    } catch (error) {
      if (thrown !== undefined) throw thrown.error
      if (!(error instanceof StoreError)) throw error
      if (error.retryable) return error
      // A constraint that is checked at the commit is an error of the code.
      throw end === 'done' ? error.cause : error
    }
    return end
  }

  #run(tx: Transaction, code: Transact['code']): string {
    const statements = new TransactStatements((text) => {
      this.#connection.noteText(text)
      return tx.sql(text)
    })
    let payload: string | Promise<string>
    try {
      payload = code(statements)
    } catch (error) {
      statements.close()
      throw error
    }
    statements.end()
    if (typeof payload === 'string') return payload
    // The code continues after its transaction has ended: ignore what it throws.
    catchRejection(payload, () => {})
    throw new TypeError(
      'transaction: on SQLite its code must not be async, and must return no promise: nothing can be ' +
        'awaited while the file is locked',
    )
  }
}
