import { type Attempt, failAttempt } from './attempts.ts'
import { expire, type Scope } from './messages.ts'
import { DELAYED, IN_FLIGHT, READY } from './queue-row.ts'
import { removeUnknownUsers } from './users.ts'

/** How many at a time, so that other processes do not wait long for the file. */
const MAX_AT_ONCE = 5_000

/** Handles what has become due: messages expire, delays and leases end. */
export function sweep(scope: Scope): void {
  endLives(scope)
  endDelays(scope)
  endLeases(scope)
}

// One in flight is left alone: its consumer may still succeed.
function endLives(scope: Scope): void {
  const expired = scope.tx
    .sql(
      `select id from messages
       where queue = ? and expires_at is not null and expires_at <= ? and state in (0, 1, 4)
       limit ${MAX_AT_ONCE}`,
    )
    .all(scope.queue, scope.tx.now) as { id: number }[]
  for (const { id } of expired) expire(scope, id)
}

function endDelays({ tx, queue, queueRow }: Scope): void {
  const count = tx
    .sql(
      `update messages set state = ${READY}, due_at = null where id in (
         select id from messages
         where queue = ? and state = ${DELAYED} and due_at is not null and due_at <= ?
         order by due_at limit ${MAX_AT_ONCE})`,
    )
    .run(queue, tx.now)
  if (count > 0) queueRow.move(DELAYED, READY, count)
}

interface Ended extends Attempt {
  /** The limit of the user that had it, not of the one that sweeps. */
  readonly max_attempts: number | null
}

function endLeases(scope: Scope): void {
  const ended = scope.tx
    .sql(
      `select id, state, key, attempt, expires_at,
         (select max_attempts from sessions where sessions.session = abs(messages.session))
           as max_attempts
       from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and due_at <= ?
       order by due_at limit ${MAX_AT_ONCE}`,
    )
    .all(scope.queue, scope.tx.now) as Ended[]
  for (const message of ended) {
    const reason = `its lease ended in attempt ${message.attempt}`
    failAttempt(scope, message, message.max_attempts ?? Infinity, 0, reason)
  }
  scope.events.lapsed += ended.length
  if (ended.length > 0) removeUnknownUsers(scope)
}
