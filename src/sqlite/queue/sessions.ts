import type { Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'
import { isGone } from '../process-place.ts'
import { type Attempt, failAttempt, undoAttempt } from './attempts.ts'
import { sweep } from './due.ts'
import type { Scope } from './messages.ts'
import { standingOf } from './standing.ts'
import { IN_FLIGHT, Tally } from './tally.ts'
import { after } from './times.ts'
import {
  enter,
  enterIfMissing,
  type Session,
  strikeOff,
  strikeOffTheUntold,
  usersOf,
} from './users.ts'

// What is in flight when its process ends may have nothing to do with that, or be the cause of it.
// The first time it comes again at once and in its order; from then on it waits longer and longer.
const WAIT_MS = 1_000
const LONGEST_WAIT_MS = 300_000

/** Finds or makes the queue, and enters a new user of it. */
export function openSession(
  tx: Transaction,
  name: string,
  maxAttempts: number,
): Session & { readonly standing: Standing } {
  const queue = queueNumber(tx, name)
  releaseTheGone(tx, queue)
  strikeOffTheUntold(tx, queue)
  const session = enter(tx, { queue, maxAttempts })
  const tally = new Tally(tx, queue)
  // What fell due while nobody looked.
  sweep({ tx, queue, session, tally })
  tally.save()
  const shared = usersOf(tx, queue).length > 1
  return { queue, session, maxAttempts, standing: standingOf(tx, queue, tally.counts, shared) }
}

/** Gives back what a user has in flight, as if it had not been taken, and strikes it off. */
export function closeSession(tx: Transaction, { queue, session }: Session): void {
  endSession(tx, queue, session, undoAttempt)
}

/** Strikes off who is gone, and enters this user again, if somebody took it for gone. */
export function muster(tx: Transaction, own: Session): void {
  releaseTheGone(tx, own.queue)
  enterIfMissing(tx, own)
}

/** Sees to what users in processes that have ended had in flight. */
function releaseTheGone(tx: Transaction, queue: number): void {
  for (const { session, process, max_attempts } of usersOf(tx, queue)) {
    if (!isGone(process)) continue
    endSession(tx, queue, session, (scope, message) => {
      const { attempt } = message
      const waitMs = attempt === 1 ? 0 : Math.min(WAIT_MS * 2 ** (attempt - 2), LONGEST_WAIT_MS)
      const reason = `its process ended in attempt ${attempt}`
      failAttempt(scope, message, max_attempts ?? Infinity, after(tx.now, waitMs), reason)
    })
  }
}

function endSession(
  tx: Transaction,
  queue: number,
  session: number,
  end: (scope: Scope, message: Attempt) => void,
): void {
  const scope = { tx, queue, session, tally: new Tally(tx, queue) }
  const held = tx
    .sql(
      `select id, state, key, attempt, expires_at from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and session = ?
       order by id`,
    )
    .all(queue, session) as Attempt[]
  for (const message of held) end(scope, message)
  scope.tally.save()
  strikeOff(tx, session)
}

function queueNumber(tx: Transaction, name: string): number {
  tx.sql(
    `insert into queues (name, next_id, ready, in_flight, delayed, dead) values (?, 0, 0, 0, 0, 0)
     on conflict (name) do nothing`,
  ).run(name)
  const row = tx.sql('select queue from queues where name = ?').get(name)
  return (row as { queue: number }).queue
}
