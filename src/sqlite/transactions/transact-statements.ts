import type { Statement, Value } from '../connect/driver.ts'
import { StatementGuard } from './statement-guard.ts'

/** Runs the SQL of a transaction. Everything is done at once: nothing is awaited. */
export interface Statements {
  /** Runs a statement that returns no rows, with `?` for each value. */
  run(sql: string, ...values: unknown[]): { readonly changes: number }
  /** All rows of a statement that returns some. */
  all(sql: string, ...values: unknown[]): readonly unknown[]
}

/** A transaction as its code sees it, for as long as the code runs. */
export class TransactStatements implements Statements {
  readonly #guard: StatementGuard<Statement>

  constructor(sql: (text: string) => Statement) {
    this.#guard = new StatementGuard(sql)
  }

  run(sql: string, ...values: unknown[]): { readonly changes: number } {
    const run = (statement: Statement): number => statement.run(...(values as Value[]))
    return { changes: this.#guard.perform(sql, run) }
  }

  all(sql: string, ...values: unknown[]): readonly unknown[] {
    return this.#guard.perform(sql, (statement) => statement.all(...(values as Value[])))
  }

  /** The code has returned. Throws if its transaction no longer exists. */
  end(): void {
    this.#guard.end()
  }

  /** Rejects everything from now on. */
  close(): void {
    this.#guard.close()
  }
}
