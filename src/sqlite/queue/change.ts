import type { Change, ChangeVerdict } from '../../store/queue-store.ts'
import { type Attempt, failAttempt, undoAttempt } from './attempts.ts'
import { acknowledgeTogether, ACKS_AT_ONCE } from './acks.ts'
import {
  acknowledge,
  block,
  firstOfKey,
  putBack,
  remove,
  type Scope,
  makeDeadLetter,
} from './messages.ts'
import { DEAD, IN_FLIGHT } from './queue-row.ts'
import { after } from '../file/times.ts'

interface Found extends Attempt {
  readonly receipt: number
  readonly due_at: number | null
  readonly pushed_at: number
}

/** Applies changes, in this order; returns the outcome of each. */
export function changeAll(
  scope: Scope,
  changes: readonly Change[],
  maxAttempts: number,
): readonly ChangeVerdict[] {
  const verdicts: ChangeVerdict[] = []
  while (verdicts.length < changes.length) {
    const acks = acksFrom(changes, verdicts.length)
    if (acks.length === ACKS_AT_ONCE && acknowledgeTogether(scope, acks)) {
      for (let i = 0; i < acks.length; i++) verdicts.push('done')
      continue
    }
    const until = verdicts.length + Math.max(1, acks.length)
    while (verdicts.length < until) {
      verdicts.push(change(scope, changes[verdicts.length]!, maxAttempts))
    }
  }
  return verdicts
}

/** The acknowledgements from here on that may go together: those of equally old deliveries. */
function acksFrom(changes: readonly Change[], first: number): readonly Change[] {
  const { receipt } = changes[first]!
  let next = first
  while (next < changes.length && next - first < ACKS_AT_ONCE) {
    const { kind, receipt: other } = changes[next]!
    if (kind !== 'ack' || other !== receipt) break
    next++
  }
  return changes.slice(first, next)
}

/** Applies one change; returns its outcome. */
function change(scope: Scope, wanted: Change, maxAttempts: number): ChangeVerdict {
  if (wanted.kind === 'ack' && acknowledge(scope, wanted)) return 'done'
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
    case 'dead_letter':
      if (found.receipt !== wanted.receipt) return 'superseded'
      if (found.state !== DEAD) makeDeadLetter(scope, found, wanted.reason)
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
      `select id, state, key, attempt, receipt, due_at, pushed_at, expires_at
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
    const until = after(Math.max(found.due_at ?? 0, tx.now), ms)
    tx.sql('update messages set due_at = ? where id = ?').run(until, found.id)
  } else if (kind === 'release') undoAttempt(scope, found)
  else failAttempt(scope, found, maxAttempts, after(tx.now, ms), reason)
  return 'done'
}

function revive(scope: Scope, found: Found): void {
  scope.tx
    .sql('update messages set attempt = 0, reason = null, expires_at = ? where id = ?')
    .run(expiryOf(scope, found), found.id)
  const dueAt = found.due_at ?? 0
  const first = found.key === null ? undefined : firstOfKey(scope, found.key)
  if (first === undefined) return putBack(scope, found, dueAt)
  if (first.state === IN_FLIGHT || first.id < found.id) return block(scope, found, dueAt)
  // The oldest goes first.
  block(scope, first, first.due_at ?? 0)
  putBack(scope, found, dueAt)
}

// A dead letter that has expired gets a new ttl when it returns to the queue.
function expiryOf({ tx }: Scope, { expires_at, pushed_at }: Found): number | null {
  if (expires_at === null || expires_at > tx.now) return expires_at
  return after(tx.now, expires_at - pushed_at)
}
