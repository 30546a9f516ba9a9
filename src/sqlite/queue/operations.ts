import { CHANGE_VERDICTS, type PushVerdict, type Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import { type Operation, read, write } from '../operations/operation.ts'
import { change } from './change.ts'
import { sweep } from './due.ts'
import type { Scope } from './messages.ts'
import { unpackBatch } from './packed-batch.ts'
import { packRecords } from './packed-records.ts'
import type { Packed } from './packing.ts'
import { push } from './push.ts'
import { findRecord, readPage } from './reads.ts'
import {
  closeSession,
  goneSessions,
  openSession,
  releaseTheGone,
  type Session,
} from './sessions.ts'
import { standing, standingOf, Tally } from './tally.ts'
import { take } from './take.ts'

/** What became of a batch, as it crosses. */
export interface PackedAnswer {
  readonly standing: Standing
  readonly changes: Uint8Array
  readonly pushes: readonly PushVerdict[]
  readonly taken: Packed
}

/** What crosses beside a batch: whether it has to survive power loss. */
export interface ApplyRequest extends Session {
  readonly batch: Packed
  readonly durable: boolean
}

/** What the thread can be asked to do with queues. */
export const QUEUE_OPERATIONS = {
  queueOpen: write(openSession),
  queueApply: { ...write(apply), isDurable: ({ durable }) => durable } as Operation<
    [request: ApplyRequest],
    PackedAnswer
  >,
  queueLook: read(look),
  queueReleaseGone: write(releaseTheGone),
  queueReserve: write(reserve),
  queueFind: read(findRecord),
  queuePage: read(readPage),
  queueClose: write(closeSession),
}

function apply(tx: Transaction, { queue, session, batch }: ApplyRequest): PackedAnswer {
  const { changes, pushes, take: most, ...rules } = unpackBatch(batch)
  const { leaseMs, maxAttempts, capacity, dueAt } = rules
  const scope: Scope = { tx, queue, session, tally: new Tally(tx, queue) }
  const verdicts = Uint8Array.from(changes, (wanted) =>
    CHANGE_VERDICTS.indexOf(change(scope, wanted, maxAttempts)),
  )
  // Before pushes: what has expired makes room.
  if (dueAt !== null && dueAt <= tx.now) sweep(scope, maxAttempts)
  const stored = pushes.map((group) => push(scope, group, capacity))
  const taken = take(scope, most, leaseMs)
  scope.tally.save()
  return {
    standing: standingOf(tx, queue, session, scope.tally.counts),
    changes: verdicts,
    pushes: stored,
    taken: packRecords(taken),
  }
}

function look(
  tx: Transaction,
  { queue, session }: Session,
): { readonly standing: Standing; readonly hasGone: boolean } {
  return { standing: standing(tx, queue, session), hasGone: goneSessions(tx).length > 0 }
}

function reserve(tx: Transaction, { queue }: Session, count: number): number | undefined {
  const tally = new Tally(tx, queue)
  const first = tally.takeIds(count)
  tally.save()
  return first
}
