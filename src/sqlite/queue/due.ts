import { type Leaving, putBack, remove, type Scope, setAside } from './messages.ts'
import { DELAYED, IN_FLIGHT, READY } from './tally.ts'

/** So many at a time, so that nobody else waits long for the file. */
const MOST = 5_000

/** Does what time has brought: messages expire, delays and leases end. */
export function sweep(scope: Scope, maxAttempts: number): void {
  expire(scope)
  endDelays(scope)
  endLeases(scope, maxAttempts)
}

// One in flight is left alone: who has it may still succeed.
function expire(scope: Scope): void {
  const expired = scope.tx
    .sql(
      `select id from messages
       where queue = ? and expires_at is not null and expires_at <= ? and state in (0, 1, 4)
       limit ${MOST}`,
    )
    .all(scope.queue, scope.tx.now) as { id: number }[]
  for (const { id } of expired) remove(scope, id)
}

function endDelays({ tx, queue, tally }: Scope): void {
  const count = tx
    .sql(
      `update messages set state = ${READY}, due_at = null where id in (
         select id from messages
         where queue = ? and state = ${DELAYED} and due_at is not null and due_at <= ?
         order by due_at limit ${MOST})`,
    )
    .run(queue, tx.now)
  if (count > 0) tally.move(DELAYED, READY, count)
}

function endLeases(scope: Scope, maxAttempts: number): void {
  const ended = scope.tx
    .sql(
      `select id, state, key, attempt, expires_at from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and due_at <= ?
       order by due_at limit ${MOST}`,
    )
    .all(scope.queue, scope.tx.now) as (Leaving & { attempt: number; expires_at: number | null })[]
  for (const message of ended) {
    if (message.expires_at !== null && message.expires_at <= scope.tx.now) remove(scope, message.id)
    else if (message.attempt < maxAttempts) putBack(scope, message, 0)
    else setAside(scope, message, `its lease ended in attempt ${message.attempt}`)
  }
}
