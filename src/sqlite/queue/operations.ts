import { CHANGE_VERDICTS, type PushVerdict, type Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import { type Operation, read, write } from '../operations/operation.ts'
import { isGone } from '../process-place.ts'
import { change } from './change.ts'
import { sweep } from './due.ts'
import type { Scope } from './messages.ts'
import { unpackBatch } from './packed-batch.ts'
import { packRecords } from './packed-records.ts'
import type { Packed } from './packing.ts'
import { pushAll } from './push.ts'
import { findRecord, readPage } from './reads.ts'
import { closeSession, muster, openSession } from './sessions.ts'
import { isSomethingDue, standingOf } from './standing.ts'
import { Tally } from './tally.ts'
import { take } from './take.ts'
import { enterIfMissing, type Session, usersOf } from './users.ts'

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
  queueMuster: write(muster),
  queueReserve: write(reserve),
  queueFind: read(findRecord),
  queuePage: read(readPage),
  queueClose: write(closeSession),
}

function apply(tx: Transaction, request: ApplyRequest): PackedAnswer {
  const { queue, session, batch } = request
  const {
    changes,
    pushes,
    inOrder,
    take: most,
    leaseMs,
    maxAttempts,
    capacity,
  } = unpackBatch(batch)
  const scope: Scope = { tx, queue, session, tally: new Tally(tx, queue) }
  const isShared = enterIfMissing(tx, request)
  const verdicts = Uint8Array.from(changes, (wanted) =>
    CHANGE_VERDICTS.indexOf(change(scope, wanted, maxAttempts)),
  )
  // Before pushes: what has expired makes room.
  if (isSomethingDue(tx, queue)) sweep(scope)
  const stored = pushAll(scope, pushes, capacity, inOrder)
  const taken = take(scope, most, leaseMs)
  scope.tally.save()
  return {
    standing: standingOf(tx, queue, scope.tally.counts, isShared),
    changes: verdicts,
    pushes: stored,
    taken: packRecords(taken),
  }
}

/** How the queue stands, and whether `queueMuster` has something to do. */
function look(
  tx: Transaction,
  { queue, session }: Session,
): { readonly standing: Standing; readonly mustMuster: boolean } {
  const users = usersOf(tx, queue)
  const others = users.filter((user) => user.session !== session)
  return {
    standing: standingOf(tx, queue, new Tally(tx, queue).counts, others.length > 0),
    mustMuster: others.length === users.length || others.some(({ process }) => isGone(process)),
  }
}

function reserve(tx: Transaction, { queue }: Session, count: number): number | undefined {
  const tally = new Tally(tx, queue)
  const first = tally.takeIds(count)
  tally.save()
  return first
}
