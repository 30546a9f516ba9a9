// Handlers in a transaction: their SQL and the new cursor are committed together, or not at all.
//
//   - From BEGIN to COMMIT nothing is waited for but the code itself, which only uses the transaction: a
//     process that is stopped in between holds up every other one on the file.
//   - One at a time: microtasks of others run meanwhile, and they use the same connection.

import { type OutboxTransact, TransactionLostError } from '../../store/outbox-store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { StorePlace } from '../file/store-place.ts'
import { toStoreError } from '../connect/sqlite-error.ts'
import type { Database, OpenTransaction } from '../file/database.ts'
import { isAlive } from '../operations/runtimes.ts'
import { OwnConnection } from '../transactions/own-connection.ts'
import { HandlerTransaction } from './handler-transaction.ts'
import { type PartitionRow, readPartition, savePartition } from './partition-row.ts'
import { settle } from './settle.ts'
import { withoutWaiting } from './without-waiting.ts'

const OPERATION = 'sqlite transact'

/** Runs the transactions of an outbox. */
export class OutboxTransactor {
  readonly #prefix: string
  readonly #connection: OwnConnection
  #last: Promise<unknown> = Promise.resolve()

  constructor(prefix: string, { settings, shared }: StorePlace) {
    this.#prefix = prefix
    this.#connection = new OwnConnection(settings, shared)
  }

  /** Why there can be no transactions; `undefined` when there can. */
  get unable(): string | undefined {
    return this.#connection.unable
  }

  /** See `OutboxStore.transact`. */
  transact(work: OutboxTransact, clockOffsetMs: () => number): Promise<'done' | 'lost'> {
    const attempt = (database: Database): Promise<'done' | 'lost' | StoreError> =>
      this.#attempt(database, work, clockOffsetMs())
    const next = this.#last.then(() => this.#connection.untilFree(OPERATION, attempt))
    this.#last = next.catch(() => {})
    return next
  }

  /** Ends the connection. What is open is rolled back. */
  close(): void {
    this.#connection.close()
  }

  /** Tries once; returns the error when the file is locked. */
  async #attempt(
    database: Database,
    work: OutboxTransact,
    clockOffsetMs: number,
  ): Promise<'done' | 'lost' | StoreError> {
    let open: OpenTransaction
    try {
      open = database.begin(OPERATION, clockOffsetMs)
    } catch (error) {
      if (error instanceof StoreError && error.retryable) return error
      throw error
    }
    const handlers = new HandlerTransaction((text) => {
      this.#connection.noteText(text)
      return database.sql(text)
    })
    try {
      const row = this.#judge(open, work)
      if (row === undefined) {
        open.rollback()
        return 'lost'
      }
      const settlement = await withoutWaiting(work.work(handlers))
      handlers.end()
      savePartition(open.tx, this.#prefix, settle(open.tx, this.#prefix, row, settlement))
    } catch (error) {
      handlers.close()
      open.rollback()
      if (this.#connection.isClosed)
        throw new StoreError('closed', OPERATION, 'the store was closed')
      throw error instanceof TransactionLostError ? toStoreError(OPERATION, error.cause) : error
    }
    this.#commit(open)
    return 'done'
  }

  #judge({ tx }: OpenTransaction, work: OutboxTransact): PartitionRow | undefined {
    const { runtime, partition, epoch, cursor } = work
    const row = readPartition(tx, this.#prefix, partition)
    const isOwner =
      row?.owner === runtime && row.epoch === epoch && row.cursor === cursor && isAlive(tx, runtime)
    return isOwner ? row : undefined
  }

  #commit(open: OpenTransaction): void {
    try {
      open.commit()
    } catch (error) {
      // A deferred constraint that fails at commit is an error of the code.
      throw error instanceof StoreError && error.code === 'rejected' ? error.cause : error
    }
  }
}
