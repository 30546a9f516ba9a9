import { describe } from '../../base/describe.ts'
import type { HandlerQueries } from '../../store/outbox-store.ts'
import type { DriverStatement, QueryResult, Value } from '../connect/driver.ts'
import { positional } from './placeholders.ts'
import type { StatementGuard } from './statement-guard.ts'

/** The SQL of a handler of an outbox, inside its transaction. */
export class HandlerStatements implements HandlerQueries {
  readonly #guard: StatementGuard<DriverStatement>

  constructor(guard: StatementGuard<DriverStatement>) {
    this.#guard = guard
  }

  query(text: string, values: readonly unknown[] = []): Promise<QueryResult> {
    // Not async: a statement runs when it is called, even if it is not awaited.
    try {
      if (!Array.isArray(values)) {
        throw new TypeError(
          `transaction: the values of tx.query() must be an array, got ${describe(values)}`,
        )
      }
      const { text: sql, values: bound } =
        typeof text === 'string' ? positional(text, values) : { text, values }
      const use = (statement: DriverStatement): QueryResult =>
        statement.query(...(bound as Value[]))
      return Promise.resolve(this.#guard.perform(sql, use))
    } catch (error) {
      return Promise.reject(error)
    }
  }
}
