import { describe } from '../../base/describe.ts'
import type { Session } from '../connect/connections.ts'
import { dropsConnection } from '../connect/errors.ts'
import { endsTransaction } from './transaction-control.ts'

/** Sends the SQL of a transaction. Await each statement before the code returns. */
export interface Queryable {
  /** Runs one statement, with `$1`, `$2`, … for the values; rows have the types that `pg` gives them. */
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: unknown[]; readonly rowCount: number | null }>
}

type Result = Awaited<ReturnType<Queryable['query']>>

/** A transaction as its code sees it, for as long as the code runs. */
export class TransactQueries implements Queryable {
  readonly #session: Session
  #firstError: unknown
  #maybeLost: unknown
  #underWay = 0
  #closed = false

  constructor(session: Session) {
    this.#session = session
  }

  /** The first error of a statement. */
  get firstError(): unknown {
    return this.#firstError
  }

  /**
   * An error that may mean the end of the connection. It need not: any statement may raise any SQLSTATE, and
   * the driver refuses some values itself.
   */
  get maybeLost(): unknown {
    return this.#maybeLost
  }

  /** Whether a statement was sent and is not answered yet. */
  get isBusy(): boolean {
    return this.#underWay > 0
  }

  /** The code has returned. Throws if statements are still running. */
  end(): void {
    this.close()
    if (this.#underWay === 0) return
    throw new Error(
      `transaction: its code returned while ${this.#underWay} of its statements were still running: ` +
        'await each tx.query()',
    )
  }

  /** Refuses further statements. */
  close(): void {
    this.#closed = true
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Result> {
    if (this.#closed) {
      throw new Error(
        'transaction: tx.query() was called after the code returned or threw: nothing was sent',
      )
    }
    if (typeof text !== 'string') {
      throw new TypeError(`transaction: tx.query() takes SQL and values, got ${describe(text)}`)
    }
    if (!Array.isArray(values)) {
      throw new TypeError(
        `transaction: the values of tx.query() must be an array, got ${describe(values)}`,
      )
    }
    if (endsTransaction(text)) {
      throw new Error(
        `transaction: ${describe(text)} was not sent: Holdfast commits when the code returns, and ` +
          'rolls back when it throws',
      )
    }
    this.#underWay++
    try {
      // One text could otherwise contain several statements, and one of them could be a commit.
      const result = await this.#session.query({ text, values, queryMode: 'extended' })
      if (Array.isArray(result)) throw severalStatements(text)
      return result as Result
    } catch (error) {
      this.#firstError ??= error
      if (dropsConnection(error)) this.#maybeLost ??= error
      throw error
    } finally {
      this.#underWay--
    }
  }
}

/** By a driver that sends them all: whether the transaction is still there is found out at its end. */
function severalStatements(text: string): TypeError {
  return new TypeError(
    `transaction: tx.query() takes one statement, got several: ${describe(text)}`,
  )
}
