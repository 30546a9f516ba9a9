import type { PgClient, Statement, StatementResult } from './driver.ts'

// What is left in a session of the server, and whether a pooler shares it.
//
//   - A pooler such as PgBouncer, in transaction mode, shares one session among many applications.
//     Settings, prepared statements and LISTEN that are left in it would affect them. So nothing is
//     left in a session that may be shared.
//   - A pooler cannot report the process id of the server when connecting, since it changes. If the id
//     reported then is missing, or differs from pg_backend_pid(), there is a pooler in between.

/** Settings of our own sessions. The server notices soon when a process is gone. */
const OF_OURS: readonly (readonly [name: string, value: string])[] = [
  ['idle_in_transaction_session_timeout', '60000'],
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '4'],
  ['tcp_user_timeout', '30000'],
  ['default_transaction_isolation', 'read committed'],
  // Our statements are short, and planned once: see procedure-settings.ts.
  ['jit', 'off'],
]

const TIMELINE = `case
    when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8)
  end as timeline`

const IS_DIRECT = 'pg_backend_pid() = $1::integer'

/** The first query of a connection. */
const ASK = `select ${TIMELINE}, coalesce(${IS_DIRECT}, false) as direct`

// Sent as a statement, because PgBouncer rejects settings in the start-up packet.
const SET_UP = `${ASK}, case when ${IS_DIRECT} then ${OF_OURS.map(
  ([name, value]) => `set_config('${name}', '${value}', false)`,
).join(' || ')} end`

/** The first statement of a connection; `isOurs` if it is of our own pool, and gets our settings. */
export function firstStatement({ processID }: PgClient, isOurs: boolean): Statement {
  return { text: isOurs ? SET_UP : ASK, values: [processID ?? null] }
}

/** Whether it leads to the server itself, so that no other application shares its session. */
export function isDirect({ rows }: StatementResult): boolean {
  return (rows[0] as { direct?: unknown }).direct === true
}
