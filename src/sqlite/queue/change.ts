import type { Change, ChangeVerdict } from '../../store/queue-store.ts'
import { isHeld, type Leaving, putBack, remove, type Scope, setAside } from './messages.ts'
import { BLOCKED, DEAD, IN_FLIGHT } from './tally.ts'

interface Found extends Leaving {
  readonly attempt: number
  readonly receipt: number
  readonly due_at: number | null
  readonly expires_at: number | null
}

/** Does what happens to one message; answers what became of it. */
export function change(scope: Scope, wanted: Change, maxAttempts: number): ChangeVerdict {
  // The way most messages leave: one statement, and a look only when it found nothing.
  if (wanted.kind === 'ack' && remove(scope, wanted.id, wanted.receipt)) return 'done'
  const found = find(scope, wanted.id)
  if (found === undefined) return 'gone'
  switch (wanted.kind) {
    case 'ack':
      return 'superseded'
    case 'remove':
      remove(scope, found.id)
      return 'done'
    case 'discard':
      if (found.state !== DEAD) return 'gone'
      remove(scope, found.id)
      return 'done'
    case 'retry':
      if (found.state !== DEAD) return 'gone'
      revive(scope, found)
      return 'done'
    case 'set_aside':
      if (found.receipt !== wanted.receipt) return 'superseded'
      if (found.state !== DEAD) setAside(scope, found, wanted.reason)
      return 'done'
    case 'nack':
    case 'release':
    case 'extend':
      return settle(scope, found, wanted, maxAttempts)
  }
}

function find({ tx, queue }: Scope, id: number): Found | undefined {
  return tx
    .sql(
      `select id, state, key, attempt, receipt, due_at, expires_at
       from messages where id = ? and queue = ?`,
    )
    .get(id, queue) as Found | undefined
}

function settle(
  scope: Scope,
  found: Found,
  { kind, receipt, ms, reason }: Change,
  maxAttempts: number,
): ChangeVerdict {
  const { tx } = scope
  if (found.receipt !== receipt) return 'superseded'
  if (found.state !== IN_FLIGHT) return 'not_in_flight'
  if (kind === 'extend') {
    const until = Math.max(found.due_at ?? 0, tx.now) + ms
    tx.sql('update messages set due_at = ? where id = ?').run(until, found.id)
    return 'done'
  }
  if (found.expires_at !== null && found.expires_at <= tx.now) remove(scope, found.id)
  else if (kind === 'release') {
    tx.sql('update messages set attempt = attempt - 1 where id = ?').run(found.id)
    putBack(scope, found, 0)
  } else if (found.attempt >= maxAttempts) setAside(scope, found, reason)
  else putBack(scope, found, tx.now + ms)
  return 'done'
}

// Behind the first of its key, if there is one by now; it is let through in the order of ids.
function revive(scope: Scope, found: Found): void {
  scope.tx
    .sql('update messages set attempt = 0, reason = null, expires_at = null where id = ?')
    .run(found.id)
  if (found.key === null || !isHeld(scope, found.key)) return putBack(scope, found, 0)
  scope.tx.sql(`update messages set state = ${BLOCKED} where id = ?`).run(found.id)
  scope.tally.move(found.state, BLOCKED)
}
