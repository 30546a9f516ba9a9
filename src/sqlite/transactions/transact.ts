// User code in a transaction of its own: its SQL and its result are committed together, or not at all.
//
//   - From BEGIN to COMMIT nothing is awaited: a process that is stopped in between holds up every
//     other one on the file. So the code is synchronous.
//   - It runs where its closures are, on a connection of the main thread. Waiting until the file is
//     free is done between two tries, and holds up nothing else.
//   - What the code throws is thrown as it is, after a rollback.

import { catchRejection } from '../../base/thenable.ts'
import { systemClock } from '../../base/time/clock.ts'
import { retry } from '../../base/time/retry.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transact } from '../../store/transactions.ts'
import { LOCK_BACKOFF } from '../file/busy.ts'
import { Database, type Transaction } from '../file/database.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { mayTransact, storeResult } from './transact-judge.ts'
import { TransactStatements } from './transact-statements.ts'

const CLOCK = systemClock()
// Each text is prepared once and kept; code that writes values into its SQL makes another each time.
const MAX_TEXTS = 1_000
const IN_MEMORY =
  'a transaction needs a database in a file; one in memory can be used by its own thread only'

/** Runs transactions on a file. */
export class SqliteTransactor {
  readonly #settings: SqliteSettings
  readonly #texts = new Set<string>()
  #database: Database | undefined
  #closed = false

  constructor(settings: SqliteSettings) {
    this.#settings = settings
  }

  /** Why there can be no transactions; `undefined` when there can. */
  get unable(): string | undefined {
    return this.#settings.path === ':memory:' ? IN_MEMORY : undefined
  }

  /** See `WorkflowStore.transact`. */
  async transact(work: Transact, clockOffsetMs: number): Promise<'done' | 'refused'> {
    const { busyMs } = this.#settings
    const { unable } = this
    const start = performance.now()
    let locked: StoreError | undefined
    const attempt = (): 'done' | 'refused' => {
      if (this.#closed) throw new StoreError('closed', 'sqlite transact', 'the store was closed')
      if (unable !== undefined) throw new StoreError('misconfigured', 'sqlite transact', unable)
      const end = this.#attempt(work, clockOffsetMs)
      if (!(end instanceof StoreError)) return end
      throw (locked = end)
    }
    return retry(attempt, {
      clock: CLOCK,
      backoff: LOCK_BACKOFF,
      // Not by its code: what the code of the user throws is never retried here.
      shouldRetry: (error) => error === locked && performance.now() - start < busyMs,
    })
  }

  /** Ends the connection. */
  close(): void {
    this.#closed = true
    this.#disconnect()
  }

  /** Tries once; answers the error when the file is locked. */
  #attempt(work: Transact, clockOffsetMs: number): 'done' | 'refused' | StoreError {
    let end = 'refused' as 'done' | 'refused'
    let thrown: { readonly error: unknown } | undefined
    try {
      this.#database ??= new Database({ ...this.#settings, busyMs: 0 })
      this.#database.write('sqlite transact', clockOffsetMs, (tx) => {
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
      // A constraint that is checked last is the code's affair.
      throw end === 'done' ? error.cause : error
    } finally {
      if (this.#texts.size > MAX_TEXTS) this.#disconnect()
    }
    return end
  }

  #run(tx: Transaction, code: Transact['code']): string {
    const statements = new TransactStatements((text) => {
      this.#texts.add(text)
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
    // It goes on, with a transaction that has ended: what it throws is no news.
    catchRejection(payload, () => {})
    throw new TypeError(
      'transaction: on SQLite its code must not be async, and must return no promise: nothing can be ' +
        'awaited while the file is locked',
    )
  }

  #disconnect(): void {
    this.#database?.close()
    this.#database = undefined
    this.#texts.clear()
  }
}
