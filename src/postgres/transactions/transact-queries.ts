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
  #lost: unknown
  #underWay = 0
  #closed = false

  constructor(session: Session) {
    this.#session = session
  }

  /** The first error of a statement. */
  get firstError(): unknown {
    return this.#firstError
  }

  /** The error that ended the connection. */
  get lost(): unknown {
    return this.#lost
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
    if (endsTransaction(text)) {
      throw new Error(
        `transaction: ${describe(text)} was not sent: Holdfast commits when the code returns, and ` +
          'rolls back when it throws',
      )
    }
    this.#underWay++
    try {
      return (await this.#session.query({ text, values })) as Result
    } catch (error) {
      this.#firstError ??= error
      if (dropsConnection(error)) this.#lost ??= error
      throw error
    } finally {
      this.#underWay--
    }
  }
}
