import { StoreError, type StoreErrorCode } from '../../store/store-error.ts'

// Every error of the driver and the server becomes a StoreError here, and nowhere else.

/** What is to be done about an error. */
interface Reading {
  readonly code: StoreErrorCode
  /** The connection is of no use any more. */
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
  // What else an operator may do to a session: more with each version of the server.
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
  // A name may be gone for a moment while a failover moves it.
  ENOTFOUND: 'connection_lost',
  // A socket in the file system that is not there yet.
  ENOENT: 'connection_lost',
  EPIPE: 'connection_lost',
  ETIMEDOUT: 'connection_lost',
  ERR_STREAM_DESTROYED: 'connection_lost',
  ERR_STREAM_WRITE_AFTER_END: 'connection_lost',
  ERR_SOCKET_CLOSED: 'connection_lost',
  // Connections of this process are used up.
  EMFILE: 'unavailable',
  ENFILE: 'unavailable',
}

/**
 * States after which the session cannot be used, though the socket may still be open. One that leads
 * to a server that only reads stays there, when its address has long led to another one.
 */
const SPOILS_SESSION = new Set(['0A000', '25006', '26000', '42P05'])

/** The operation by which a store connects for the first time. */
const FIRST = 'open'

/** What only a runtime sends, which has registered before. */
const OF_RUNTIMES: ReadonlySet<string> = new Set(['commit_batch', 'finish_tasks'])

/**
 * The `StoreError` for whatever a connection threw while doing `operation`.
 *
 * Who cannot connect for the first time is told what is wrong with the settings. Whoever was
 * connected before had the right ones: a password is being changed, the place that hands out tokens
 * does not answer, a certificate has run out. Then it is for somebody to help, and nothing that waits
 * is to blame: so all of that may be tried again. The same goes for what a runtime writes: rights that
 * are taken from its role, or a schema that is moved away, are no fault of what it could not write.
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
 * Whether a server says that it is in recovery, and cannot tell where its log ends. The state alone
 * means many things; the server's own function that said it does not depend on anybody's language.
 */
function isOfStandby(error: unknown): boolean {
  const { routine } = (error ?? {}) as { routine?: unknown }
  return (
    codeOf(error) === '55000' && (routine === 'pg_current_wal_lsn' || routine === 'pg_walfile_name')
  )
}

/**
 * Whether a procedure that was about to be called is gone: another version has just replaced it. All
 * there is to know it by are the words, which the server does not translate for errors of this kind.
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
 * Whether a code is one that Node gives to sockets, and that the table does not name. There are many,
 * and more to come; while a statement runs, all of them mean that its answer is lost.
 */
function isOfSocket(given: string, phase: 'connect' | 'query'): boolean {
  return phase === 'query' && !(given in BY_SYSTEM_CODE) && OF_SOCKET.test(given)
}

// No SQLSTATE begins with an E.
const OF_SOCKET = /^E([A-Z\d]+|RR_(SOCKET|SSL|STREAM|TLS)_\w+)$/

/**
 * The driver gives no code to what it finds out by itself. While a statement runs, that is the end
 * of the connection. While connecting, it may also be a missing password, which no retry mends; all
 * there is to tell them apart are the words.
 */
function uncoded(error: unknown, phase: 'connect' | 'query'): StoreErrorCode {
  // A fault of ours, or a text longer than JavaScript can make.
  if (error instanceof RangeError) return 'rejected'
  if (!(error instanceof Error) || error instanceof TypeError) return 'unexpected'
  if (phase === 'query') return 'connection_lost'
  return /terminated|timeout|closed/i.test(error.message) ? 'connection_lost' : 'misconfigured'
}

function codeOf(error: unknown): string | undefined {
  // Every address of a name refused: the first speaks for all.
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
