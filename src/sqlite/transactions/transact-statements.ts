import { describe } from '../../base/describe.ts'
import type { Statement, Value } from '../connect/driver.ts'

/** What the SQL of a transaction goes through. Everything is done at once: nothing is awaited. */
export interface Statements {
  /** Runs a statement that returns no rows, with `?` for each value. */
  run(sql: string, ...values: unknown[]): { readonly changes: number }
  /** All rows of a statement that returns some. */
  all(sql: string, ...values: unknown[]): readonly unknown[]
}

const CONTROL =
  /^(?:\s|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*(?:begin|commit|end|rollback(?!\s+(?:transaction\s+)?to\b))\b/i

/** A transaction as its code sees it, for as long as the code runs. */
export class TransactStatements implements Statements {
  readonly #sql: (text: string) => Statement
  #over: string | undefined

  constructor(sql: (text: string) => Statement) {
    this.#sql = sql
  }

  run(sql: string, ...values: unknown[]): { readonly changes: number } {
    return { changes: this.#perform(sql, (statement) => statement.run(...(values as Value[]))) }
  }

  all(sql: string, ...values: unknown[]): readonly unknown[] {
    return this.#perform(sql, (statement) => statement.all(...(values as Value[])))
  }

  /** The code has returned. Throws when its transaction is not there any more. */
  end(): void {
    const over = this.#over
    this.close()
    if (over !== undefined) throw new Error(`transaction: ${over}; its code went on all the same`)
  }

  /** Nothing is taken any more. */
  close(): void {
    this.#over = 'tx was used after the code had returned or thrown: nothing was run'
  }

  #perform<T>(sql: unknown, use: (statement: Statement) => T): T {
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
      if (!this.#isInside()) this.#over = `a statement rolled it back (${String(error)})`
      throw error
    }
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
