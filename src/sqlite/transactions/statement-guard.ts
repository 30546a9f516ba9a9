import { describe } from '../../base/describe.ts'
import type { Statement } from '../connect/driver.ts'

const CONTROL =
  /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*(?:begin|commit|end|rollback(?!\s+(?:transaction\s+)?to\b))\b/i

/** The way of SQL into a transaction that is not its to end, for as long as the code behind it runs. */
export class StatementGuard<S extends Statement> {
  readonly #sql: (text: string) => S
  #over: string | undefined
  #lostBy: { readonly error: unknown } | undefined

  constructor(sql: (text: string) => S) {
    this.#sql = sql
  }

  /** What a statement threw that rolled back everything. */
  get lostBy(): { readonly error: unknown } | undefined {
    return this.#lostBy
  }

  /** Uses the statement for this SQL. */
  perform<T>(sql: unknown, use: (statement: S) => T): T {
    if (this.#over !== undefined) throw new Error(`transaction: ${this.#over}`)
    if (typeof sql !== 'string') {
      throw new TypeError(`transaction: tx takes SQL and values, got ${describe(sql)}`)
    }
    if (CONTROL.test(sql)) {
      throw new Error(
        `transaction: ${describe(sql)} was not run: it is committed when its code returns, and ` +
          'rolled back when it throws',
      )
    }
    try {
      return use(this.#sql(sql))
    } catch (error) {
      // Most errors take back their own statement only. After one that took back everything, each
      // further statement would be committed by itself.
      if (!this.#isInside()) {
        this.#lostBy = { error }
        this.#over = `a statement rolled it back (${String(error)})`
      }
      throw error
    }
  }

  /** The code has returned. Throws when its transaction is not there any more. */
  end(): void {
    const over = this.#over
    this.close()
    if (over !== undefined) throw new Error(`transaction: ${over}; its code continued anyway`)
  }

  /** Nothing is taken any more. */
  close(): void {
    this.#over = 'tx was used after the code had returned or thrown: nothing was run'
  }

  /** SQLite knows no transaction within another: beginning one fails exactly when there is one. */
  #isInside(): boolean {
    try {
      this.#sql('begin').run()
    } catch {
      return true
    }
    this.#sql('rollback').run()
    return false
  }
}
