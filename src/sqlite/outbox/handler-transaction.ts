import { randomBytes } from 'node:crypto'
import {
  type HandlerQueries,
  type OutboxTransaction,
  TransactionLostError,
} from '../../store/outbox-store.ts'
import type { DriverStatement } from '../connect/driver.ts'
import { HandlerStatements } from '../transactions/handler-statements.ts'
import { StatementGuard } from '../transactions/statement-guard.ts'

// A handler that knew it could set or release it. One for the process: each text is prepared once and kept.
const SAVEPOINT = `holdfast_${randomBytes(8).toString('hex')}`

/** A transaction as handlers see it. Nothing in it waits: each promise is settled when it is returned. */
export class HandlerTransaction implements OutboxTransaction {
  readonly #sql: (text: string) => DriverStatement
  #current: StatementGuard<DriverStatement> | undefined
  #isOver = false
  #lost: TransactionLostError | undefined

  constructor(sql: (text: string) => DriverStatement) {
    this.#sql = sql
  }

  async attempt<T>(code: (tx: HandlerQueries) => Promise<T>): Promise<T> {
    if (this.#isOver) throw new Error('transaction: it has ended')
    if (this.#current !== undefined) throw new Error('transaction: another attempt has not ended')
    const guard = (this.#current = new StatementGuard(this.#sql))
    this.#sql(`savepoint ${SAVEPOINT}`).run()
    try {
      const result = await code(new HandlerStatements(guard))
      this.#endAttempt(guard)
      return result
    } catch (error) {
      this.#undoAttempt(guard)
      throw error
    } finally {
      this.#current = undefined
    }
  }

  /** The code has returned. Throws when its transaction is not there any more. */
  end(): void {
    this.close()
    if (this.#lost !== undefined) throw this.#lost
  }

  /** Nothing is taken any more: the transaction ends. */
  close(): void {
    this.#isOver = true
    this.#current?.close()
  }

  #endAttempt(guard: StatementGuard<DriverStatement>): void {
    this.#check(guard)
    guard.close()
    this.#sql(`release ${SAVEPOINT}`).run()
  }

  #undoAttempt(guard: StatementGuard<DriverStatement>): void {
    this.#check(guard)
    guard.close()
    this.#sql(`rollback to ${SAVEPOINT}`).run()
    this.#sql(`release ${SAVEPOINT}`).run()
  }

  /** Whatever is done after the end of the transaction would be part of another one, or of none. */
  #check({ lostBy }: StatementGuard<DriverStatement>): void {
    if (lostBy !== undefined) {
      this.close()
      throw (this.#lost ??= new TransactionLostError(lostBy.error))
    }
    if (this.#isOver) throw new Error('transaction: it has ended')
  }
}
