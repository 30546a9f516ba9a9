// Activities whose own SQL and whose result are committed together.

import { describe } from '../../base/describe.ts'
import type { ActivityContext } from './activity-context.ts'
import { activity, type ActivityDefinition, type AnyActivity } from './definitions.ts'

/** What the code of a transaction is given: `tx` is what its SQL goes through. */
export interface TransactionContext<Tx> extends ActivityContext {
  readonly tx: Tx
}

/**
 * Defines a transaction for stores of one kind. Each adapter's entry has a `transaction` of its own
 * around it, which knows the type of `tx`; `rest` is what that was given behind the name.
 */
export function defineTransaction(
  store: string,
  name: string,
  rest: readonly unknown[],
): ActivityDefinition {
  const [options, run] = rest.length >= 2 ? rest : [undefined, rest[0]]
  if (typeof run !== 'function') {
    throw new TypeError(
      `transaction ${describe(name)}: its code must be a function, got ${describe(run)}`,
    )
  }
  const definition: AnyActivity = activity(name, options ?? {}, run as () => unknown)
  return { ...(definition as ActivityDefinition), transaction: store }
}

/**
 * Refuses a transaction that can never succeed: its SQL is for another kind of store than the one in
 * use, or that one has none, for the reason given.
 */
export function checkTransaction(
  definition: ActivityDefinition,
  store: string,
  without?: string,
): void {
  const { name, transaction } = definition
  if (transaction === undefined) return
  if (transaction !== store) {
    throw new TypeError(
      `transaction "${name}" is made by transaction() of holdfast/${transaction}, but this store is ` +
        `of kind "${store}": define it with the one of holdfast/${store}`,
    )
  }
  if (without !== undefined) throw new TypeError(`transaction "${name}" cannot run: ${without}`)
}
