import type { CommitAnswer, StartItem, Verdict } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transaction } from '../file/database.ts'
import { unpackCommit } from '../packing/packed-commit.ts'
import type { Packed } from '../packing/packing.ts'
import { allLimits } from './limits.ts'
import { isAlive } from './runtimes.ts'
import { startInstance } from './starts.ts'
import { commitTurn } from './turns.ts'

// One item after the other, each with statements for one row: within one transaction of an embedded
// database that is faster than statements over sets, which would have to take the batch apart in
// SQL. There is one writer at a time, so no lock is needed for P4 (store/workflow-store.ts):
// a runtime that is alive when the transaction begins is alive when it ends.

const NO_LIMITS = new Map<number, never>()

/** Applies what a runtime decided: all in one transaction, each item judged by itself. */
export function commit(tx: Transaction, packed: Packed): CommitAnswer {
  const { runtime, server, starts, turns } = unpackCommit(packed)
  if (server !== tx.server) return { state: 'verify', clock: tx.now, server: tx.server }
  if (!isAlive(tx, runtime)) return { state: 'dead', clock: tx.now }
  const limits = starts.length === 0 ? NO_LIMITS : allLimits(tx)
  const woken: Iid[] = []
  return {
    state: 'ok',
    clock: tx.now,
    starts: starts.map((item) => startInstance(tx, item, runtime, limits)),
    turns: turns.map((item) => commitTurn(tx, runtime, item, woken)),
    ...(woken.length > 0 && { woken }),
  }
}

/** Starts instances for a client, which owns nothing, or for a runtime that owns their parents. */
export function start(
  tx: Transaction,
  items: readonly StartItem[],
  runtime?: number,
): readonly Verdict[] {
  const owned = items.find((item) => item.owned)
  if (owned !== undefined) {
    throw new StoreError(
      'rejected',
      'sqlite start',
      `a client cannot own instances, but the start of "${owned.id}" asks for that`,
    )
  }
  const limits = allLimits(tx)
  // A client does not have the store's time.
  return items.map((item) =>
    startInstance(tx, { ...item, turn: { ...item.turn, at: tx.now } }, runtime ?? null, limits),
  )
}
