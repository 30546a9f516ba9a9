import type { PgClient, Statement, StatementResult } from './driver.ts'

// What is left in a session of the server, and whose session that is.
//
//   - A pooler such as PgBouncer, in transaction mode, lends one session to many applications. What
//     stays in it is theirs to stumble over: settings, prepared statements, LISTEN. So in a session
//     that is not ours alone, nothing stays.
//   - A pooler cannot hand out the number of the server's process, since it changes: whoever was
//     told another one when connecting than the server itself tells has a pooler in between. Not
//     to have been told any counts the same.

/** What the settings of a session of ours are. The server notices soon that a process is gone. */
const OF_OURS: readonly (readonly [name: string, value: string])[] = [
  ['idle_in_transaction_session_timeout', '60000'],
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '4'],
  ['tcp_user_timeout', '30000'],
  ['default_transaction_isolation', 'read committed'],
  // What we send is planned once, and short: see procedure-settings.ts.
  ['jit', 'off'],
]

const TIMELINE = `case
    when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8)
  end as timeline`

const IS_DIRECT = 'pg_backend_pid() = $1::integer'

/** What a connection is asked first. */
const ASK = `select ${TIMELINE}, coalesce(${IS_DIRECT}, false) as direct`

// Sent as a statement, rather than in the start-up packet, which PgBouncer refuses when it holds
// settings.
const SET_UP = `${ASK}, case when ${IS_DIRECT} then ${OF_OURS.map(
  ([name, value]) => `set_config('${name}', '${value}', false)`,
).join(' || ')} end`

/** The first statement of a connection; `isOurs` when nobody else uses it, so that it is set up too. */
export function firstStatement({ processID }: PgClient, isOurs: boolean): Statement {
  return { text: isOurs ? SET_UP : ASK, values: [processID ?? null] }
}

/** Whether it leads to the server itself, so that no other application shares its session. */
export function isDirect({ rows }: StatementResult): boolean {
  return (rows[0] as { direct?: unknown }).direct === true
}
