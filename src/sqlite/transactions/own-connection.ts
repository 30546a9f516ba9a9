// A connection of the main thread, for code of the user: it runs where its closures are. Waiting until
// the file is free is done between two attempts, and holds up nothing else.

import { systemClock } from '../../base/time/clock.ts'
import { retry } from '../../base/time/retry.ts'
import { StoreError } from '../../store/store-error.ts'
import { LOCK_BACKOFF } from '../file/busy.ts'
import { Database } from '../file/database.ts'
import type { SqliteSettings } from '../connect/options.ts'
import type { SharedDatabase } from '../file/store-place.ts'

const CLOCK = systemClock()
// Each text is prepared once and kept; code that writes values into its SQL makes another each time.
const MAX_TEXTS = 1_000
const IN_MEMORY =
  'a transaction needs a database in a file; one in memory can be used by its own thread only'

/** A connection for transactions, opened by the first of them. */
export class OwnConnection {
  readonly #settings: SqliteSettings
  readonly #shared: SharedDatabase | undefined
  readonly #texts = new Set<string>()
  #database: Database | undefined
  #closed = false

  /** A database in memory has one connection, `shared` by everything. */
  constructor(settings: SqliteSettings, shared?: SharedDatabase) {
    this.#settings = settings
    this.#shared = shared
  }

  /** Why there can be no transactions; `undefined` when there can. */
  get unable(): string | undefined {
    const isAlone = this.#settings.path === ':memory:' && this.#shared === undefined
    return isAlone ? IN_MEMORY : undefined
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /**
   * Attempts something until the file is free. `attempt` answers the error when it finds it locked, and has
   * done nothing then; what it throws is thrown.
   */
  async untilFree<T>(
    operation: string,
    attempt: (database: Database) => T | StoreError | Promise<T | StoreError>,
  ): Promise<T> {
    const { busyMs } = this.#settings
    const start = performance.now()
    let locked: StoreError | undefined
    const action = async (): Promise<T> => {
      const end = await this.#attempt(operation, attempt)
      if (!(end instanceof StoreError)) return end
      throw (locked = end)
    }
    return retry(action, {
      clock: CLOCK,
      backoff: LOCK_BACKOFF,
      // Not by its code: what the code of the user throws is never retried here.
      shouldRetry: (error) => error === locked && performance.now() - start < busyMs,
    })
  }

  /** A text of the user was prepared. */
  noteText(text: string): void {
    this.#texts.add(text)
  }

  /** Ends the connection. */
  close(): void {
    this.#closed = true
    this.#disconnect()
  }

  async #attempt<T>(
    operation: string,
    attempt: (database: Database) => T | StoreError | Promise<T | StoreError>,
  ): Promise<T | StoreError> {
    if (this.#closed) throw new StoreError('closed', operation, 'the store was closed')
    if (this.unable !== undefined) throw new StoreError('misconfigured', operation, this.unable)
    if (this.#shared?.database.isInTransaction === true) {
      return new StoreError('busy', operation, 'a transaction of yours is open on the connection')
    }
    if (this.#shared !== undefined) return attempt(this.#shared.database)
    try {
      this.#database ??= new Database({ ...this.#settings, busyMs: 0 })
    } catch (error) {
      if (error instanceof StoreError && error.retryable) return error
      throw error
    }
    try {
      return await attempt(this.#database)
    } finally {
      if (this.#texts.size > MAX_TEXTS) this.#disconnect()
    }
  }

  #disconnect(): void {
    this.#database?.close()
    this.#database = undefined
    this.#texts.clear()
  }
}
