// Activities whose SQL and result are committed in one transaction.

import { describe } from '../../base/describe.ts'
import type { ActivityContext } from './activity-context.ts'
import { activity, type ActivityDefinition, type AnyActivity } from './definitions.ts'

/** The second argument of a transaction: an activity's context, and the open transaction as `tx`. */
export interface TransactionContext<Tx> extends ActivityContext {
  readonly tx: Tx
}

/**
 * Defines a transaction for stores of one kind. Each adapter exports its own `transaction`, which knows
 * the type of `tx`; `rest` is what that received after the name.
 */
export function defineTransaction(
  store: string,
  name: string,
  rest: readonly unknown[],
): ActivityDefinition {
  const [options, run] = rest.length >= 2 ? rest : [undefined, rest[0]]
  if (typeof run !== 'function') {
    throw new TypeError(
      `transaction ${describe(name)}: the code must be a function, got ${describe(run)}`,
    )
  }
  const definition: AnyActivity = activity(name, options ?? {}, run as () => unknown)
  return { ...(definition as ActivityDefinition), transaction: store }
}

/**
 * Throws for a transaction that can never succeed: it is for another kind of store, or this store has no
 * transactions, for the reason in `without`.
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
      `transaction "${name}" uses transaction() of holdfast/${transaction}, but the store is ` +
        `"${store}": use transaction() of holdfast/${store}`,
    )
  }
  if (without !== undefined) throw new TypeError(`transaction "${name}" cannot run: ${without}`)
}
