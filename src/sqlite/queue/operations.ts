import type { QueueState } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import { type Operation, read, write } from '../file/operation.ts'
import { changeAll } from './change.ts'
import { forgetDisk, allowanceOf } from './disk-room.ts'
import { sweep } from './due.ts'
import { scopeOf } from './messages.ts'
import { packAnswer } from './packed-answer.ts'
import { type PackedPart, unpackBatch } from './packed-batch.ts'
import type { Packed } from '../packing/packing.ts'
import { unlockPresence } from './presence.ts'
import { pushAll, refused } from './push.ts'
import { findRecord, readPage } from './reads.ts'
import { closeSession, reclaimDead, openSession } from './sessions.ts'
import { isDue, nextDueAt } from './next-due.ts'
import { queueStateOf } from './queue-state.ts'
import { takeAll } from './take.ts'
import { registerIfMissing, fateOfUser, type Session, usersOf } from './users.ts'

/** What crosses beside a batch: whether it has to survive power loss. */
export interface ApplyRequest extends Session {
  readonly batch: Packed
  readonly durable: boolean
}

/** What the thread can be asked to do with queues. */
export const QUEUE_OPERATIONS = {
  queueOpen: lenient(openSession),
  queueApply: { ...write(apply), isDurable: ({ durable }) => durable } as Operation<
    [request: ApplyRequest],
    Packed
  >,
  queueLook: read(look),
  queueReclaimDead: lenient(reclaimDead),
  queueEmptyWal: read(emptyWal),
  queueFind: read(findRecord),
  queuePage: read(readPage),
  queueClose: lenient(close),
  queueUnlock: read(unlockOnly),
}

/**
 * A write that may be lost in a power failure: what it says about users and their messages is over
 * then anyway.
 */
function lenient<Args extends unknown[], Result>(
  run: (tx: Transaction, ...args: Args) => Result,
): Operation<Args, Result> {
  return { ...write(run), isDurable: () => false }
}

function apply(tx: Transaction, request: ApplyRequest): Packed {
  const batch = unpackBatch(request.batch)
  const { queue, session } = request
  const scope = scopeOf(tx, queue, session)
  const { found } = scope
  registerIfMissing(scope, request)
  const changes = changeAll(scope, batch.changes, batch.maxAttempts)
  // Before pushes: what has expired makes room.
  const mustSweep = isDue(tx, found.next_due_at)
  if (mustSweep) sweep(scope)
  const { mayPush, mustEmptyWal } = allowanceOf(tx, roomFor(batch))
  const pushes = mayPush
    ? pushAll(scope, batch.pushes, batch.capacity, batch.inOrder)
    : batch.pushes.map(() => refused('no_disk'))
  const taken = takeAll(scope, batch)
  scope.queueRow.save()
  const nextDue = mustSweep || movesTimes(batch) ? nextDueAt(tx, queue) : found.next_due_at
  const queueState = queueStateOf(scope, found.users > found.own, nextDue)
  return packAnswer({ queueState, changes, pushes, taken, mustEmptyWal })
}

/** The state of the queue, and whether `queueReclaimDead` has something to do. */
function look(
  tx: Transaction,
  { queue, session }: Session,
): { readonly queueState: QueueState; readonly mustReclaim: boolean } {
  const users = usersOf(tx, queue)
  const others = users.filter((user) => user.session !== session)
  const scope = scopeOf(tx, queue, session)
  return {
    queueState: queueStateOf(scope, others.length > 0, scope.found.next_due_at),
    mustReclaim:
      others.length === users.length || others.some((user) => fateOfUser(tx, user) === 'gone'),
  }
}

// Nothing is read before it, so that the transaction around it has not begun for SQLite.
function emptyWal(tx: Transaction): void {
  tx.sql('pragma wal_checkpoint(passive)').get()
}

function close(tx: Transaction, session: Session): void {
  closeSession(tx, session)
  forgetDisk(tx)
}

/** For a user whose end cannot be recorded: its leases end by themselves. */
function unlockOnly(tx: Transaction, { session }: Session): void {
  unlockPresence(tx, session)
  forgetDisk(tx)
}

/** Whether a batch may change when something falls due. */
function movesTimes({ changes, pushes, takes }: PackedPart): boolean {
  return (
    changes.length > 0 ||
    takes.length > 0 ||
    pushes.some(({ delayMs, ttlMs }) => delayMs > 0 || ttlMs !== null)
  )
}

/** What a row takes beside its data, in the table and in its indexes. */
const PER_ROW = 400

/** How much room a batch takes in the WAL, at most; about as much its pushes take in the file. */
function roomFor({ pushes, changes, takes }: PackedPart): number {
  let bytes = 0
  for (const { reason } of changes) bytes += 2 * reason.length + PER_ROW
  for (const { max } of takes) bytes += max * PER_ROW
  for (const { payloads, key, dedupeKey } of pushes) {
    // A key is in the table and in an index, with each of its messages.
    const perMessage = PER_ROW + 4 * (key?.length ?? 0)
    bytes += 4 * (dedupeKey?.length ?? 0)
    for (const { data } of payloads) bytes += 2 * data.length + perMessage
  }
  return bytes
}
