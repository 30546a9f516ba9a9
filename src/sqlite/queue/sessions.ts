import type { QueueEvents, QueueState } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import { type Attempt, failAttempt, undoAttempt } from './attempts.ts'
import { sweep } from './due.ts'
import { type Scope, scopeOf } from './messages.ts'
import { nextDueAt } from './next-due.ts'
import { queueStateOf } from './queue-state.ts'
import { IN_FLIGHT } from './queue-row.ts'
import { after } from '../file/times.ts'
import {
  registerUser,
  registerIfMissing,
  fateOfUser,
  type Session,
  removeUser,
  removeUnknownUsers,
  usersOf,
} from './users.ts'

// What is in flight when its process ends may have nothing to do with that, or be the cause of it.
// The first time it comes again at once and in its order; from then on it waits longer and longer.
const WAIT_MS = 1_000
const LONGEST_WAIT_MS = 300_000

const ENDED_AHEAD = 'its process ended after the message was prefetched'

/** A message that a user has in flight. */
interface LeasedMessage extends Attempt {
  /** Whether it was fetched ahead, see `take.ts`. */
  readonly is_ahead: number
}

/** Finds or makes the queue, and enters a new user of it. */
export function openSession(
  tx: Transaction,
  name: string,
  maxAttempts: number,
): Session & { readonly queueState: QueueState } {
  const queue = queueNumber(tx, name)
  const scope = scopeOf(tx, queue, registerUser(tx, { queue, maxAttempts }))
  reclaimFromDead(scope)
  removeUnknownUsers(scope)
  // What fell due while the queue was not open.
  sweep(scope)
  scope.queueRow.save()
  const isShared = usersOf(tx, queue).length > 1
  const queueState = queueStateOf(scope, isShared, nextDueAt(tx, queue))
  return { queue, session: scope.session, maxAttempts, queueState }
}

/** Gives back what a user has in flight, as if it had not been taken, and removes it. */
export function closeSession(tx: Transaction, { queue, session }: Session): void {
  const scope = scopeOf(tx, queue, session)
  endSession(scope, session, (message) => undoAttempt(scope, message))
  scope.queueRow.save()
}

/** Removes users whose process has ended, and registers this one again if another removed it. */
export function reclaimDead(tx: Transaction, own: Session): QueueEvents {
  const scope = scopeOf(tx, own.queue, own.session)
  reclaimFromDead(scope)
  scope.queueRow.save()
  registerIfMissing(scope, own)
  return scope.events
}

/** Returns to the queue what users of ended processes had in flight. */
function reclaimFromDead(scope: Scope): void {
  const { tx, queue } = scope
  for (const user of usersOf(tx, queue)) {
    const { session, max_attempts } = user
    if (session === scope.session || fateOfUser(tx, user) !== 'gone') continue
    endSession(scope, session, (message) => {
      const { attempt } = message
      scope.events.lapsed++
      if (message.is_ahead === 1) return undoAttempt(scope, message, ENDED_AHEAD)
      const waitMs = attempt === 1 ? 0 : Math.min(WAIT_MS * 2 ** (attempt - 2), LONGEST_WAIT_MS)
      const reason = `its process ended in attempt ${attempt}`
      failAttempt(scope, message, max_attempts ?? Infinity, after(tx.now, waitMs), reason)
    })
  }
}

function endSession(scope: Scope, session: number, end: (message: LeasedMessage) => void): void {
  const { tx, queue } = scope
  const held = tx
    .sql(
      `select id, state, key, attempt, expires_at, session < 0 as is_ahead from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and abs(session) = ?
       order by id`,
    )
    .all(queue, session) as LeasedMessage[]
  for (const message of held) end(message)
  removeUser(tx, session)
}

function queueNumber(tx: Transaction, name: string): number {
  tx.sql(
    `insert into queues (name, next_id, ready, in_flight, delayed, dead) values (?, 0, 0, 0, 0, 0)
     on conflict (name) do nothing`,
  ).run(name)
  const row = tx.sql('select queue from queues where name = ?').get(name)
  return (row as { queue: number }).queue
}
