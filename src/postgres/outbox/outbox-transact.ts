// Runs handlers in a transaction: what they write and what they have done with their messages is committed
// together, or not at all.
//
//   - Each handler runs behind a savepoint: what it wrote is undone when it throws, even after an error of
//     a statement, and the transaction goes on.
//   - The partition is locked first and judged, so no other runtime can deliver the same messages meanwhile.
//   - An error of the connection, or of the commit, undoes everything.
//   - Nothing is settled outside of the transaction that was begun: it is recognised by its id.
//   - A statement that still runs when its handler was given up is not waited for: the connection is cut,
//     and another one ends its session, since the server by itself would go on with the statement.

import { randomBytes } from 'node:crypto'
import {
  type OutboxTransact,
  type OutboxTransaction,
  type Settlement,
  TransactionLostError,
} from '../../store/outbox-store.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Connections, Session } from '../connect/connections.ts'
import { dropsConnection, storeError } from '../connect/errors.ts'
import { quoted } from '../connect/schema-name.ts'
import { TransactQueries } from '../transactions/transact-queries.ts'
import type { Transactor } from '../transactions/transactor.ts'
import { stepsValue } from './step-values.ts'

// A transaction that stops in the middle keeps locks on tables of the user, and others from the partitions of
// its runtime. A message has 30 seconds and its handler two more.
const IDLE_LIMIT_MS = 33_000

/** What transactions of handlers use. */
export interface TransactHost {
  readonly schema: string
  readonly transactor: Transactor
  /** Other connections than those of the transactions. */
  readonly connections: Pick<Connections, 'query'>
}

/** Runs the handlers of one partition in one transaction. */
export async function outboxTransact(
  { schema, transactor, connections }: TransactHost,
  prefix: string,
  work: OutboxTransact,
): Promise<'done' | 'lost'> {
  let cut: CutOff | undefined
  let end: End
  try {
    end = await transactor.lend('transact', async (session) => {
      const ended = await run(session, schema, prefix, work)
      if (!('cut' in ended)) return ended
      cut = ended.cut
      // So that the connection is not used again.
      throw new StoreError('connection_lost', 'transact', 'a statement was given up')
    })
  } catch (error) {
    if (cut === undefined) throw error
    endSession(connections, cut)
    throw cut.thrown
  }
  // An error of a handler says nothing about the connection.
  if ('thrown' in end) throw end.thrown
  return end.verdict
}

type End = { readonly verdict: 'done' | 'lost' } | { readonly thrown: unknown }

/** A transaction whose connection is in use by a statement whose answer is not awaited. */
interface CutOff extends Begun {
  readonly thrown: unknown
}

/** The id of a transaction, and the process of the server that runs it. */
interface Begun {
  readonly xid: string
  readonly pid: number
}

async function run(
  session: Session,
  schema: string,
  prefix: string,
  { runtime, partition, epoch, cursor, work }: OutboxTransact,
): Promise<End | { readonly cut: CutOff }> {
  const procedure = (name: string): string => `${quoted(schema)}.${quoted(`${prefix}_${name}`)}`
  await session.query({ text: 'begin isolation level read committed' })
  try {
    const { rows } = await session.query({
      text: `select ${procedure('begin')}($1, $2, $3, $4, $5) as owned,
        pg_current_xact_id()::text as xid, pg_backend_pid() as pid`,
      values: [runtime, partition, epoch, cursor, IDLE_LIMIT_MS],
    })
    const { owned, xid, pid } = rows[0] as Begun & { owned: boolean }
    if (!owned) return await undone(session, LOST)
    const savepoints = new Savepoints(session)
    let settle: Settlement
    try {
      settle = await work(savepoints)
      savepoints.close()
    } catch (error) {
      savepoints.close()
      const thrown = error instanceof TransactionLostError ? error.cause : error
      if (thrown !== error && !(thrown instanceof EndedError)) throw thrown
      return savepoints.isBusy ? { cut: { xid, pid, thrown } } : await undone(session, { thrown })
    }
    const step = { partition, epoch, settle, read: 0, release: 'never' as const }
    const settled = await session.query({
      text: `select case when pg_current_xact_id()::text = $3
          then (select count(*) from ${procedure('steps')}($1, $2))
        end is not null as done`,
      values: [runtime, stepsValue([step]), xid],
    })
    if (!(settled.rows[0] as { done: boolean }).done) {
      return await undone(session, { thrown: new EndedError() })
    }
    await session.query({ text: 'commit' })
    return { verdict: 'done' }
  } catch (error) {
    await session.query({ text: 'rollback' }).catch(() => {})
    if (storeError('transact', error).retryable || dropsConnection(error)) throw error
    // A constraint that is checked at the end: an error of the handlers.
    return { thrown: error }
  }
}

const LOST: End = { verdict: 'lost' }

async function undone(session: Session, end: End): Promise<End> {
  await session.query({ text: 'rollback' }).catch(() => {})
  return end
}

/**
 * Ends the session of a transaction that was cut off. If that fails, the statement ends by the
 * `statement_timeout` of its transaction.
 */
function endSession(connections: TransactHost['connections'], { pid, xid }: Begun): void {
  const text = `select pg_terminate_backend(pid) from pg_stat_activity
    where pid = $1 and backend_xid = $2::xid8::xid`
  connections.query('transact', 'other', { text, values: [pid, xid] }).catch(() => {})
}

/** A handler ended the transaction. */
class EndedError extends Error {
  constructor() {
    super(
      'transaction: a handler ended it; what was written before may be committed, but its messages are ' +
        'delivered again: leave commit and rollback to Holdfast',
    )
  }
}

class Savepoints implements OutboxTransaction {
  readonly #session: Session
  // A handler that knew it could set or release it.
  readonly #name = `holdfast_${randomBytes(8).toString('hex')}`
  #current: TransactQueries | undefined
  #controls = 0
  #isOver = false

  constructor(session: Session) {
    this.#session = session
  }

  /** Whether a statement was sent and is not answered yet. */
  get isBusy(): boolean {
    return this.#controls > 0 || this.#current?.isBusy === true
  }

  /** Refuses statements of a handler that still runs after it was given up. */
  close(): void {
    this.#isOver = true
    this.#current?.close()
  }

  async attempt<T>(code: (tx: TransactQueries) => Promise<T>): Promise<T> {
    await this.#control('savepoint')
    const queries = (this.#current = new TransactQueries(this.#session))
    let result: T
    try {
      result = await code(queries)
      queries.end()
    } catch (error) {
      queries.close()
      // Succeeds unless the connection or the transaction is gone, whatever the statement failed with.
      await this.#control('rollback to savepoint', queries.maybeLost)
      throw error
    }
    if (!(await this.#release())) {
      await this.#control('rollback to savepoint')
      throw new Error(
        'transaction: the handler returned after a statement had failed: PostgreSQL accepts nothing ' +
          'after an error; rethrow it, or wrap that statement in a savepoint',
        { cause: queries.firstError },
      )
    }
    return result
  }

  /** False when a statement has failed, and nothing but a rollback is accepted. */
  async #release(): Promise<boolean> {
    try {
      await this.#control('release savepoint')
      return true
    } catch (error) {
      if (codeOf(error) === ABORTED) return false
      throw error
    }
  }

  /** Throws a `TransactionLostError` if the transaction is gone, because of `cause` if that is known. */
  async #control(verb: string, cause?: unknown): Promise<void> {
    // The connection may be in use by others by now.
    if (this.#isOver) throw new Error('transaction: it has ended')
    this.#controls++
    try {
      await this.#session.query({ text: `${verb} ${this.#name}` })
    } catch (error) {
      if (codeOf(error) === ABORTED) throw error
      throw new TransactionLostError(GONE.has(codeOf(error)) ? new EndedError() : (cause ?? error))
    } finally {
      this.#controls--
    }
  }
}

const ABORTED = '25P02'
/** No transaction is open, or it is one without our savepoint. */
const GONE: ReadonlySet<unknown> = new Set(['25P01', '3B001'])

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}
