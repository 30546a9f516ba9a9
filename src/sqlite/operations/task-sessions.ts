import { SESSION_KEPT_MS } from '../../store/constants.ts'
import type { Transaction } from '../file/database.ts'

// A session belongs to the runtime that last claimed a task of it, until that runtime is gone, or
// was idle in it for too long.
//
//   - There is a row in `sessions` exactly as long as a runtime has the session.
//   - `tasks.pin` says the same in each task of the session, also in those that a runtime owns.

/** The value of `tasks.pin` for a task without a session. */
export const NO_SESSION = 0
/** The value of `tasks.pin` while no runtime has the session. */
export const FREE_SESSION = -1

const PIN = `update tasks set pin = ? where session = ? and session <> ''`

/** What a new task of this session gets as its pin. */
export function pinOf(tx: Transaction, session: string): number {
  if (session === '') return NO_SESSION
  const row = tx.sql('select runtime from sessions where session = ?').get(session) as
    | { runtime: number }
    | undefined
  return row?.runtime ?? FREE_SESSION
}

const TAKE = `
insert into sessions (session, runtime, touched_at) values (?, ?, ?)
on conflict do update set runtime = excluded.runtime, touched_at = excluded.touched_at`

/** Gives a session to a runtime, which may have it already, and says so in its tasks. */
export function takeSession(tx: Transaction, session: string, runtime: number, pin: number): void {
  tx.sql(TAKE).run(session, runtime, tx.now)
  if (pin !== runtime) tx.sql(PIN).run(runtime, session)
}

const TOUCH = 'update sessions set touched_at = ? where session = ? and runtime = ?'

const RETAKE =
  'insert into sessions (session, runtime, touched_at) values (?, ?, ?) on conflict do nothing'

/**
 * Records that a runtime is busy in a session, if it is its own. That is also so if no other
 * runtime has taken the session since this one lost it.
 */
export function touchSession(tx: Transaction, session: string, runtime: number): void {
  if (session === '' || tx.sql(TOUCH).run(tx.now, session, runtime) > 0) return
  if (tx.sql(RETAKE).run(session, runtime, tx.now) > 0) tx.sql(PIN).run(runtime, session)
}

const BUSY = `
select distinct session from tasks
where held_by = ? and held_by is not null and session > ''`

/** The sessions in which a runtime owns tasks. */
export function busySessions(tx: Transaction, runtime: number): Set<string> {
  const rows = tx.sql(BUSY).all(runtime) as { session: string }[]
  return new Set(rows.map(({ session }) => session))
}

const OWNED_IN_SESSION = `
from tasks
where held_by = sessions.runtime and held_by is not null and tasks.session = sessions.session`

// A task whose owner has been silent for too long does not count.
const IS_IDLE = `
not exists (select 1 ${OWNED_IN_SESSION} and (beat_until is null or beat_until > ?))`

/** So that no claim or tick takes long, whatever has piled up. */
const MAX_AT_ONCE = 500

const IDLE = `
select session from sessions
where touched_at <= ? and ${IS_IDLE}
order by touched_at
limit ${MAX_AT_ONCE}`

/** Frees sessions whose runtime has owned no task of them for this long. */
export function freeIdleSessions(tx: Transaction, idleMs: number): void {
  const idle = tx.sql(IDLE).all(tx.now - idleMs, tx.now) as { session: string }[]
  for (const { session } of idle) {
    tx.sql('delete from sessions where session = ?').run(session)
    tx.sql(PIN).run(FREE_SESSION, session)
  }
}

// Looks at no more than the sessions that are busy, and one.
const LONGEST_IDLE = `
select touched_at as at from sessions
where ${IS_IDLE}
order by touched_at
limit 1`

// Busy now, but not if its owner remains silent.
const NEXT_GIVEN_UP = `
select min(max(touched_at + ?, silent_at)) as at
from (
  select touched_at, (select max(beat_until) ${OWNED_IN_SESSION}) as silent_at
  from sessions
  where touched_at <= ? and not exists (select 1 ${OWNED_IN_SESSION} and beat_until is null)
)`

/** When the next session becomes free, whichever runtime has it, unless it is used until then. */
export function nextFreeSession(tx: Transaction, idleMs: number): number | null {
  const idle = tx.sql(LONGEST_IDLE).get(tx.now) as { at: number } | undefined
  const before = idle?.at ?? tx.now
  const silent = tx.sql(NEXT_GIVEN_UP).get(idleMs, before) as { at: number | null }
  const next = Math.min(idle === undefined ? Infinity : idle.at + idleMs, silent.at ?? Infinity)
  return next === Infinity ? null : next
}

const UNPIN_ALL = `
update tasks set pin = ${FREE_SESSION}
where session in (select session from sessions where runtime = ?) and session <> ''`

/** Frees all sessions of a runtime that is gone. */
export function freeSessionsOf(tx: Transaction, runtime: number): void {
  tx.sql(UNPIN_ALL).run(runtime)
  tx.sql('delete from sessions where runtime = ?').run(runtime)
}

const REMOVE_OLD = `
delete from sessions
where session in (
  select session from sessions
  where touched_at < ?
    and not exists (
      select 1 from tasks where tasks.session = sessions.session and tasks.session <> ''
    )
  order by touched_at
  limit ${MAX_AT_ONCE}
)`

/** Removes sessions that are out of use, some at a time. */
export function removeOldSessions(tx: Transaction): void {
  tx.sql(REMOVE_OLD).run(tx.now - SESSION_KEPT_MS)
}
