import type { Transaction } from '../file/database.ts'
import { type Fate, fateOf, ownProcess } from '../file/process-place.ts'
import type { Scope } from './messages.ts'
import { lockPresence, isPresent, unlockPresence } from './presence.ts'
import { IN_FLIGHT } from './queue-row.ts'

// The users of a queue. One that was removed although it is alive registers itself again with its
// next call; until then leases protect its messages.

/** The user of a queue that makes a call. */
export interface Session {
  readonly queue: number
  readonly session: number
  readonly maxAttempts: number
}

/** A user, as others see it. */
export interface User {
  readonly session: number
  readonly process: string
  readonly max_attempts: number | null
}

/** All users of a queue: there are few. */
export function usersOf(tx: Transaction, queue: number): readonly User[] {
  return tx
    .sql('select session, process, max_attempts from sessions where queue = ?')
    .all(queue) as User[]
}

/** Registers a user that was missing when the transaction began. */
export function registerIfMissing({ tx, found }: Scope, own: Session): void {
  if (found.own === 0) registerUser(tx, own, own.session)
  // A thread that has ended has taken the lock with it.
  else lockPresence(tx, own.session)
}

/** Registers a user under a new number, or again under its own. */
export function registerUser(
  tx: Transaction,
  { queue, maxAttempts }: Pick<Session, 'queue' | 'maxAttempts'>,
  session: number | null = null,
): number {
  const row = tx
    .sql(
      `insert into sessions (session, queue, process, max_attempts) values (?, ?, ?, ?)
       returning session`,
    )
    .get(session, queue, ownProcess(), maxAttempts === Infinity ? null : maxAttempts)
  const entered = (row as { session: number }).session
  lockPresence(tx, entered)
  return entered
}

/** Removes a user that has ended, or ends now. */
export function removeUser(tx: Transaction, session: number): void {
  tx.sql('delete from sessions where session = ?').run(session)
  unlockPresence(tx, session)
}

/** The state of a user, as far as it can be seen from here. */
export function fateOfUser(tx: Transaction, { session, process }: User): Fate {
  const fate = fateOf(process)
  if (fate === 'there') return fate
  const present = isPresent(tx, session)
  if (present === undefined) return fate
  return present ? 'there' : 'gone'
}

/**
 * Removes other users that have nothing in flight and whose process this one cannot check. Rarely
 * done: one that is still alive registers itself again.
 */
export function removeUnknownUsers({ tx, queue, session: own }: Scope): void {
  for (const user of usersOf(tx, queue)) {
    const { session } = user
    if (session === own || fateOfUser(tx, user) !== 'unknown') continue
    if (!hasAny(tx, queue, session)) removeUser(tx, session)
  }
}

function hasAny(tx: Transaction, queue: number, session: number): boolean {
  const any = tx
    .sql(
      `select 1 as held from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and abs(session) = ? limit 1`,
    )
    .get(queue, session)
  return any !== undefined
}
