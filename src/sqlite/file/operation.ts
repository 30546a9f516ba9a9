import type { Transaction } from './database.ts'

/** One entry of the table of operations: what it needs, and what it does. */
export interface Operation<Args extends unknown[], Result> {
  readonly mode: 'read' | 'write'
  run(tx: Transaction, ...args: Args): Result
  /** Whether a write has to survive power loss; it has to, unless this says otherwise. */
  isDurable?(...args: Args): boolean
}

/** An operation that changes nothing. */
export function read<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { mode: 'read', run }
}

/** An operation that changes something. */
export function write<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { mode: 'write', run }
}

/**
 * An operation whose change may be lost in a power failure: only processes on the same machine rely
 * on it, and they end with it.
 */
export function nonDurableWrite<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { mode: 'write', run, isDurable: () => false }
}
