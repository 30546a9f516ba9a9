import type { Transaction } from '../database.ts'
import { fateOf, ownProcess } from '../process-place.ts'
import { IN_FLIGHT } from './tally.ts'

// Who uses a queue. A user that was struck off although it is there enters itself again with the
// next thing that it does; until then its messages are safe by their leases.

/** Who a user of a queue is, in every call. */
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

/** Enters a user that is not known, or not any more; answers whether there are others. */
export function enterIfMissing(tx: Transaction, own: Session): boolean {
  const known = tx.sql('select session from sessions where queue = ?').all(own.queue) as Pick<
    User,
    'session'
  >[]
  const others = known.filter(({ session }) => session !== own.session)
  if (others.length === known.length) enter(tx, own, own.session)
  return others.length > 0
}

/** Enters a user under a number that nobody had, or once more under its own. */
export function enter(
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
  return (row as { session: number }).session
}

/** Strikes a user off. */
export function strikeOff(tx: Transaction, session: number): void {
  tx.sql('delete from sessions where session = ?').run(session)
}

/**
 * Strikes off who has nothing in flight and may have ended, for all that can be told here. Done only
 * now and then: one that has not ended comes back.
 */
export function strikeOffTheUntold(tx: Transaction, queue: number): void {
  for (const { session, process } of usersOf(tx, queue)) {
    if (fateOf(process) === 'untold' && !hasAny(tx, queue, session)) strikeOff(tx, session)
  }
}

function hasAny(tx: Transaction, queue: number, session: number): boolean {
  const any = tx
    .sql(
      `select 1 as held from messages
       where queue = ? and state = ${IN_FLIGHT} and due_at is not null and session = ? limit 1`,
    )
    .get(queue, session)
  return any !== undefined
}
