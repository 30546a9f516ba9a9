// Runs user code in a transaction: its SQL and its result are committed together, or not at all.
// `procedures/transactions/finish_transaction.sql` explains why that is exactly once.
//
//   - What the code throws is thrown unchanged, after a rollback. An error of the connection is a
//     `StoreError`, whatever the code made of it.
//   - Code is never recorded as done if it ended the transaction itself, continued after a failed
//     statement, or left one running.
//   - After a commit whose answer was lost, the code is run again and finds its result.

import { semaphore } from '../../base/sync/semaphore.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Transact } from '../../store/transactions.ts'
import { connectionsFor, type Session } from '../connect/connections.ts'
import type { PgClient } from '../connect/driver.ts'
import { storeError } from '../connect/errors.ts'
import type { PostgresSettings } from '../connect/options.ts'
import { quoted } from '../connect/schema-name.ts'
import { ServerWatch } from '../connect/server-watch.ts'
import { TRANSACTION_VERDICT } from '../wire/numbers.ts'
import { TransactQueries } from './transact-queries.ts'

/** Runs transactions of one store. */
export interface Transactor {
  transact(work: Transact): Promise<'done' | 'refused'>
  /** Lends one of the connections for transactions of users, once one is free. */
  lend<T>(operation: string, use: (session: Session) => Promise<T>): Promise<T>
  close(): Promise<void>
}

// User code may be slow, and must not take connections from ticks and claims.
const MAX_AT_ONCE = 4
// A transaction that stops in the middle keeps locks on tables of the user.
const IDLE_LIMIT_MS = 60_000

/**
 * Runs transactions over connections of their own, except with a pool of the user. Only tests change
 * how long the code may stay without a statement.
 */
export function transactorOf(
  settings: PostgresSettings,
  idleLimitMs = IDLE_LIMIT_MS,
  watch = new ServerWatch(),
): Transactor {
  const { schema } = settings
  const connections = connectionsFor(settings, watch)
  const slots = semaphore(MAX_AT_ONCE)
  const lend: Transactor['lend'] = async (operation, use) => {
    const slot = await slots.acquire()
    try {
      return await connections.session(operation, use)
    } finally {
      slot[Symbol.dispose]()
    }
  }
  return {
    lend,
    async transact(work) {
      const end = await lend('transact', (session) =>
        inSession(session, { schema, idleLimitMs, work }),
      )
      if ('thrown' in end) throw end.thrown
      return end.verdict
    },
    async close() {
      const closed = connections.close()
      // Closing does not wait for code that does not end: once its runtime is gone, it is never
      // committed.
      if (slots.free === MAX_AT_ONCE) await closed
      else closed.catch(() => {})
    },
  }
}

interface Place {
  readonly schema: string
  readonly idleLimitMs: number
  readonly work: Transact
}

/** An error of the code is passed as a value: the connection is still good. */
type End = { readonly verdict: 'done' | 'refused' } | { readonly thrown: unknown }

const DONE: End = { verdict: 'done' }
const REFUSED: End = { verdict: 'refused' }

async function inSession(session: Session, place: Place): Promise<End> {
  await session.query({ text: 'begin isolation level read committed' })
  let end: End
  try {
    end = await run(session, place)
  } catch (error) {
    await rollback(session)
    throw error
  }
  if (end === DONE) return commit(session)
  await rollback(session)
  return end
}

/** Runs the code and stores its result; `DONE` is still to be committed. */
async function run(session: Session, { schema, idleLimitMs, work }: Place): Promise<End> {
  const { runtime, iid, execution, command, by, code } = work
  const [epoch, attempt] = 'epoch' in by ? [by.epoch, null] : [null, by.attempt]
  const [turn, token] = 'epoch' in by ? [by.turn, null] : [null, by.token]
  const judged = [runtime, iid, execution, command, epoch, attempt]
  const begun = await ask(session, schema, 'begin_transaction', [
    ...judged,
    idleLimitMs,
    turn,
    token,
  ])
  if (begun === null) return REFUSED

  using parting = closingReason(session)
  const queries = new TransactQueries(session)
  const blame = (error: unknown): End => {
    if (isAborted(error)) return { thrown: wentOn(queries.firstError ?? error) }
    // The server would end it the next time, too: so it counts as an attempt.
    const reason = parting.of(error)
    if (reason === IDLE_FOR_TOO_LONG) return { thrown: wasIdle(idleLimitMs, error) }
    if (reason === TOOK_TOO_LONG) return { thrown: tookTooLong(error) }
    throw error
  }
  let payload: string
  try {
    payload = await code(queries)
    queries.end()
  } catch (thrown) {
    queries.close()
    // The connection may be fine: then this is an error of the code, which counts as an attempt.
    const isLost = queries.maybeLost !== undefined && !(await rollback(session))
    return isLost ? blame(queries.maybeLost) : { thrown }
  }
  try {
    const values = [begun, ...judged, payload, turn, token]
    const verdict = await ask(session, schema, 'finish_transaction', values)
    if (verdict === TRANSACTION_VERDICT.done) return DONE
    return verdict === TRANSACTION_VERDICT.refused ? REFUSED : { thrown: endedItself() }
  } catch (error) {
    return blame(error)
  }
}

const IDLE_FOR_TOO_LONG = '25P03'
const TOOK_TOO_LONG = '25P04'
const ABORTED = '25P02'

/**
 * Why the server ended the connection, if it said so. It reports that as an event of the connection
 * when no statement is running; the next statement only finds the connection closed.
 */
function closingReason(session: Session): Disposable & { of(error: unknown): unknown } {
  // What is on loan is a connection of the driver.
  const client = session as PgClient
  let serverCode: unknown
  const listen = (error: Error): void => {
    serverCode ??= codeOf(error)
  }
  client.on('error', listen)
  return {
    of: (error) => serverCode ?? codeOf(error),
    [Symbol.dispose]: () => void client.removeListener('error', listen),
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

async function ask(
  session: Session,
  schema: string,
  procedure: string,
  values: readonly unknown[],
): Promise<string | null> {
  const marks = values.map((_, i) => `$${i + 1}`).join(', ')
  const text = `select ${quoted(schema)}.${quoted(procedure)}(${marks}) as answer`
  const { rows } = await session.query({ text, values })
  return (rows[0] as { answer: string | null }).answer
}

async function commit(session: Session): Promise<End> {
  try {
    await session.query({ text: 'commit' })
    return DONE
  } catch (error) {
    // A deferred constraint that fails is an error of the code; anything else is one of the server.
    if (storeError('transact', error).retryable) throw error
    return { thrown: error }
  }
}

/**
 * False if the connection is lost: then the server rolls back by itself, and the error before this is the
 * one to report.
 */
function rollback(session: Session): Promise<boolean> {
  return session.query({ text: 'rollback' }).then(
    () => true,
    () => false,
  )
}

function isAborted(error: unknown): boolean {
  return codeOf(error) === ABORTED
}

function wasIdle(limitMs: number, cause: unknown): Error {
  return new Error(
    `transaction: its code sent no statement for more than ${limitMs} ms, so the server ended it: ` +
      'do slow work before the transaction, in an activity',
    { cause },
  )
}

function tookTooLong(cause: unknown): Error {
  return new Error(
    'transaction: it took longer than the transaction_timeout of its role, so the server ended it: ' +
      'do slow work before the transaction, in an activity, or raise that setting',
    { cause },
  )
}

function wentOn(cause: unknown): Error {
  const { message } = cause as Error
  return new Error(
    `transaction: its code returned after a statement had failed (${message}): PostgreSQL accepts ` +
      'nothing after an error; rethrow it, or wrap that statement in a savepoint',
    { cause },
  )
}

function endedItself(): StoreError {
  return new StoreError(
    'rejected',
    'transact',
    'the code ended its transaction itself; what it wrote before may be committed, but its result ' +
      'is not: leave commit and rollback to Holdfast',
  )
}
