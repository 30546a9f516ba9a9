// Replaces `thread.ts` if a file is used from the caller's own thread.
//
//   - Requests are done in the order of the calls, one in each round of the event loop: while
//     answers and calls follow each other, timers and sockets get their turn in between.
//   - No lock is held from one request to the next: each is a whole transaction.

import { StoreError } from '../../store/store-error.ts'
import { Database } from '../file/database.ts'
import { claimLibrary } from '../connect/library-of-file.ts'
import type { ArgsOf, OperationName, ResultOf } from './table.ts'
import type { SqliteSettings } from '../connect/options.ts'
import { perform } from './perform.ts'
import { toStoreError } from '../connect/sqlite-error.ts'
import { warnOnce } from '../connect/wal-reset-bug.ts'

// As it is now: tests of users replace timers, and this must go on.
const { setImmediate } = globalThis

/** One open file, in this thread, which waits for the disk. Opened by the first call. */
export class SameThread {
  readonly #settings: SqliteSettings
  readonly #open: () => Database
  readonly #waiting: (() => void)[] = []
  #database: Database | undefined
  #isClosed = false

  /** `open` opens the file. */
  constructor(settings: SqliteSettings, open = () => new Database(settings)) {
    this.#settings = settings
    this.#open = open
  }

  /** The open file. */
  get database(): Database {
    if (this.#database === undefined) {
      claimLibrary(this.#settings)
      this.#database = this.#open()
      warnOnce(this.#database.warning)
    }
    return this.#database
  }

  /** Runs an operation, with a clock that is ahead of the machine's by this much. */
  call<Name extends OperationName>(
    operation: Name,
    args: ArgsOf<Name>,
    clockOffsetMs = 0,
  ): Promise<ResultOf<Name>> {
    const name = `sqlite ${operation}`
    if (this.#isClosed) {
      return Promise.reject(new StoreError('closed', name, 'the store was closed'))
    }
    return this.#inTurn(
      name,
      () => perform(this.database, operation, args, clockOffsetMs) as ResultOf<Name>,
    )
  }

  /** Closes the file once everything asked for is done. Later calls fail with `closed`. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#inTurn('sqlite close', () => {
      this.#database?.close()
      this.#database = undefined
    })
  }

  #inTurn<T>(name: string, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work())
        } catch (thrown) {
          reject(toStoreError(name, thrown))
        }
      })
      if (this.#waiting.length === 1) setImmediate(() => this.#next())
    })
  }

  #next(): void {
    // Of the user, on the one connection to a database in memory: like a lock, it is waited for.
    if (this.#database?.isInTransaction === true) return void setImmediate(() => this.#next())
    this.#waiting[0]!()
    this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(() => this.#next())
    this.#database?.tidy()
  }
}
