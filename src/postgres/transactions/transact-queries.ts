import { describe } from '../../base/describe.ts'
import type { Session } from '../connect/connections.ts'
import { dropsConnection } from '../connect/errors.ts'
import { endsTransaction } from './transaction-control.ts'

/** What the SQL of a transaction goes through. Each statement is awaited before the code returns. */
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

  /** The error by which the connection was lost. */
  get lost(): unknown {
    return this.#lost
  }

  /** The code has returned. Throws when it should not have. */
  end(): void {
    this.close()
    if (this.#underWay === 0) return
    throw new Error(
      `transaction: its code returned while ${this.#underWay} of its statements were under way: ` +
        'await each tx.query()',
    )
  }

  /** Nothing is taken any more. */
  close(): void {
    this.#closed = true
  }

  async query(text: string, values: readonly unknown[] = []): Promise<Result> {
    if (this.#closed) {
      throw new Error(
        'transaction: tx.query() came after the code had returned or thrown: nothing was sent',
      )
    }
    if (typeof text !== 'string') {
      throw new TypeError(`transaction: tx.query() takes SQL and values, got ${describe(text)}`)
    }
    if (endsTransaction(text)) {
      throw new Error(
        `transaction: ${describe(text)} was not sent: it is committed when its code returns, and ` +
          'rolled back when it throws',
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
