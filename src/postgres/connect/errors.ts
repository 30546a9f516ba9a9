import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'

// Every error of the driver and the server becomes a StoreError here, and nowhere else.

/** How to treat an error. */
interface Reading {
  readonly code: StoreErrorCode
  /** Whether the connection must not be used again. */
  readonly dropsConnection: boolean
}

/** By SQLSTATE. See "PostgreSQL Error Codes" in the server's manual. */
const BY_STATE: Readonly<Record<string, StoreErrorCode>> = {
  '0A000': 'busy', // cached plan must not change result type: a new connection plans anew
  '25006': 'unavailable', // read-only transaction: a standby, or a server being failed over
  '25P03': 'connection_lost', // idle in transaction for too long
  '25P04': 'connection_lost', // transaction_timeout, which ends the session
  '26000': 'busy', // a prepared statement is gone: a new connection prepares it again
  '3D000': 'misconfigured', // no such database
  '3F000': 'misconfigured', // no such schema
  '40001': 'busy', // serialization failure
  '40003': 'connection_lost', // completion unknown
  '40P01': 'busy', // deadlock
  '42501': 'misconfigured', // insufficient privilege
  '42883': 'misconfigured', // no such function: the schema was dropped, or is another one
  '42P01': 'misconfigured', // no such table
  '42P05': 'busy', // a prepared statement is there already: a pooler mixed up sessions
  '55006': 'busy', // object in use
  '55P03': 'locked', // lock not available
  '57014': 'busy', // cancelled: statement_timeout, or by hand
  '57P01': 'connection_lost', // shut down by the administrator
  '57P02': 'connection_lost', // crash of another session
  '57P03': 'connection_lost', // starting up or shutting down
  '57P04': 'misconfigured', // database dropped
  '57P05': 'connection_lost', // idle session timeout
  '72000': 'busy', // snapshot too old
  HF001: 'misconfigured', // our own: the transaction isolation is too strict
  XX001: 'corrupt', // data corrupted
  XX002: 'corrupt', // index corrupted
}

/** By the first two characters of SQLSTATE, where the whole one is not listed. */
const BY_CLASS: Readonly<Record<string, StoreErrorCode>> = {
  '08': 'connection_lost', // connection exception
  '22': 'rejected', // data exception
  '23': 'rejected', // integrity constraint
  '28': 'misconfigured', // authorization
  '40': 'busy', // transaction rollback
  '53': 'unavailable', // insufficient resources
  // Other interventions by an operator, of which later versions may have more.
  '57': 'connection_lost',
  '54': 'rejected', // program limit exceeded: an id too long for an index
  '58': 'unavailable', // system error: I/O
}

/** By the code that Node gives to errors of sockets and name lookup. */
const BY_SYSTEM_CODE: Readonly<Record<string, StoreErrorCode>> = {
  EAI_AGAIN: 'connection_lost',
  ECONNABORTED: 'connection_lost',
  ECONNREFUSED: 'connection_lost',
  ECONNRESET: 'connection_lost',
  EHOSTDOWN: 'connection_lost',
  EHOSTUNREACH: 'connection_lost',
  ENETDOWN: 'connection_lost',
  ENETRESET: 'connection_lost',
  ENETUNREACH: 'connection_lost',
  // During a failover, the name may be missing for a moment.
  ENOTFOUND: 'connection_lost',
  // The Unix socket does not exist yet.
  ENOENT: 'connection_lost',
  EPIPE: 'connection_lost',
  ETIMEDOUT: 'connection_lost',
  ERR_STREAM_DESTROYED: 'connection_lost',
  ERR_STREAM_WRITE_AFTER_END: 'connection_lost',
  ERR_SOCKET_CLOSED: 'connection_lost',
  // The process has no file descriptors left.
  EMFILE: 'unavailable',
  ENFILE: 'unavailable',
}

/**
 * States after which the session cannot be used, though the socket may still be open. A connection to
 * a read-only server stays there, even after its address leads to another server.
 */
const SPOILS_SESSION = new Set(['0A000', '25006', '26000', '42P05'])

/** The operation by which a store connects for the first time. */
const FIRST = 'open'

/** Operations of runtimes, which have registered before. */
const OF_RUNTIMES: ReadonlySet<string> = new Set(['commit_batch', 'finish_tasks'])

/**
 * The `StoreError` for whatever a connection threw while doing `operation`.
 *
 * An error of the first connection is `misconfigured`: the settings are wrong. Later the settings were
 * right once: a password was changed, a token service does not answer, a certificate expired. An
 * operator has to fix that, and until then calls are retried: `unavailable`. The same holds for writes
 * of a runtime whose role lost its privileges, or whose schema is gone: the instances are not at fault.
 */
export function storeError(
  operation: string,
  error: unknown,
  phase: 'connect' | 'query' = 'query',
  words = messageOf(error),
): StoreError {
  if (error instanceof StoreError) return error
  const { code } = readingOf(error, phase)
  const found = new StoreError(code, operation, words, { cause: error })
  if (found.retryable) return found
  if (phase === 'query' && !(code === 'misconfigured' && OF_RUNTIMES.has(operation))) return found
  const unable = operation === FIRST ? 'misconfigured' : 'unavailable'
  return new StoreError(unable, operation, words, { cause: error })
}

/** Whether the connection that threw this must not be used again. */
export function dropsConnection(error: unknown): boolean {
  return readingOf(error, 'query').dropsConnection
}

function readingOf(error: unknown, phase: 'connect' | 'query'): Reading {
  if (error instanceof StoreError) {
    return { code: error.code, dropsConnection: error.code === 'connection_lost' }
  }
  if (isOfStandby(error)) return { code: 'unavailable', dropsConnection: true }
  if (isOfReplaced(error)) return { code: 'busy', dropsConnection: false }
  const given = codeOf(error)
  const code =
    given === undefined || isOfSocket(given, phase) ? uncoded(error, phase) : coded(given)
  return { code, dropsConnection: code === 'connection_lost' || SPOILS_SESSION.has(given ?? '') }
}

/**
 * Whether the server is in recovery, and cannot report its WAL position. The SQLSTATE alone has many
 * meanings; the name of the routine does not depend on the language of the server.
 */
function isOfStandby(error: unknown): boolean {
  const { routine } = (error ?? {}) as { routine?: unknown }
  return (
    codeOf(error) === '55000' && (routine === 'pg_current_wal_lsn' || routine === 'pg_walfile_name')
  )
}

/**
 * Whether the called procedure is gone, because another version has just replaced it. Only the message
 * says so, which the server does not translate for internal errors.
 */
export function isOfReplaced(error: unknown): boolean {
  return codeOf(error) === 'XX000' && messageOf(error).startsWith('cache lookup failed for ')
}

function coded(given: string): StoreErrorCode {
  return (
    BY_SYSTEM_CODE[given] ??
    BY_STATE[given] ??
    (given.length === 5 ? BY_CLASS[given.slice(0, 2)] : undefined) ??
    'unexpected'
  )
}

/**
 * Whether this is a socket error of Node that the table does not list. There are many; while a
 * statement runs, each of them means that its answer is lost.
 */
function isOfSocket(given: string, phase: 'connect' | 'query'): boolean {
  return phase === 'query' && !(given in BY_SYSTEM_CODE) && OF_SOCKET.test(given)
}

// No SQLSTATE begins with an E.
const OF_SOCKET = /^E([A-Z\d]+|RR_(SOCKET|SSL|STREAM|TLS)_\w+)$/

/**
 * Errors of the driver itself have no code. While a statement runs, they mean the end of the
 * connection. While connecting, it may also be a missing password, which no retry fixes; only the
 * message distinguishes them.
 */
function uncoded(error: unknown, phase: 'connect' | 'query'): StoreErrorCode {
  // A bug of ours, or a string longer than JavaScript allows.
  if (error instanceof RangeError) return 'rejected'
  if (!(error instanceof Error) || error instanceof TypeError) return 'unexpected'
  if (phase === 'query') return 'connection_lost'
  return /terminated|timeout|closed/i.test(error.message) ? 'connection_lost' : 'misconfigured'
}

function codeOf(error: unknown): string | undefined {
  // Every address of the host failed: report the first.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0])
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return messageOf(error.errors[0])
  }
  return error instanceof Error ? error.message : String(error)
}
