import {
  block,
  expire,
  type Leaving,
  nextOfKey,
  putBack,
  type Scope,
  makeDeadLetter,
} from './messages.ts'

// How a delivery ends without success.

/** A message in flight. */
export interface Attempt extends Leaving {
  readonly attempt: number
  readonly expires_at: number | null
}

/** Counts the attempt: the message comes again, at `dueAt`, unless that was the last one. */
export function failAttempt(
  scope: Scope,
  message: Attempt,
  maxAttempts: number,
  dueAt: number,
  reason: string,
): void {
  if (isExpired(scope, message)) expire(scope, message.id)
  else if (message.attempt >= maxAttempts) makeDeadLetter(scope, message, reason)
  else {
    scope.tx.sql('update messages set reason = ? where id = ?').run(reason, message.id)
    rejoin(scope, message, dueAt)
  }
}

/** Makes it as if the message had not been taken; with a reason, that is remembered. */
export function undoAttempt(scope: Scope, message: Attempt, reason?: string): void {
  if (isExpired(scope, message)) expire(scope, message.id)
  else {
    scope.tx
      .sql('update messages set attempt = attempt - 1, reason = ifnull(?, reason) where id = ?')
      .run(reason ?? null, message.id)
    rejoin(scope, message, 0)
  }
}

function isExpired({ tx }: Scope, { expires_at }: Attempt): boolean {
  return expires_at !== null && expires_at <= tx.now
}

// An older one of its key may have come back from the dead letters meanwhile: that is first.
function rejoin(scope: Scope, message: Attempt, dueAt: number): void {
  const next = message.key === null ? undefined : nextOfKey(scope, message.key)
  if (next === undefined || next.id > message.id) return putBack(scope, message, dueAt)
  block(scope, message, dueAt)
  putBack(scope, next, next.due_at ?? 0)
}
