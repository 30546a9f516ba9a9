import { StoreError } from '../../store/store-error.ts'
import {
  loadDriver,
  type PgClient,
  type PgPool,
  type Statement,
  type StatementResult,
} from './driver.ts'
import { dropsConnection, storeError } from './errors.ts'
import { connectWords, isUnreadableUrl, UNREADABLE_URL } from './explain-error.ts'
import { measured } from './metrics.ts'
import type { PostgresSettings } from './options.ts'
import { ServerWatch, wasPromoted } from './server-watch.ts'
import { firstStatement, isDirect } from './session.ts'

// Connections: where they come from, and what happens when they break.
//
//   - Each statement is a transaction of its own.
//   - A connection that broke, or did not answer in time, is never used again; the next statement gets
//     a new one. Nothing is sent twice from here.
//   - Commits have a connection of their own, so that no other statement delays them. From a pool of
//     the user, a connection is taken for one statement at a time.
//   - A statement that is sent behind another is a separate transaction, and fails or succeeds on its
//     own.
//   - Closing waits a few seconds for running statements. The others are given up: their connections
//     are cut, and their callers get `connection_lost`.
//   - Nothing is left in a session that other applications may share: see `session.ts`.

/** Which connections a statement may use. */
export type Lane = 'commit' | 'other'

/** Connections to one database. */
export interface Connections {
  /** Runs one statement. Throws `StoreError`, with `operation` in its message. */
  query(
    operation: string,
    lane: Lane,
    statement: Statement,
    behind?: Behind,
  ): Promise<StatementResult>
  /** Lends one connection for as long as `use` runs. */
  session<T>(operation: string, use: (client: Session) => Promise<T>): Promise<T>
  /** Ends the connections once nothing uses them; leaves a pool of the user alone. */
  close(): Promise<void>
}

/**
 * A statement that is sent right behind another, before that is answered: the server runs it as soon as
 * the other is committed.
 */
export interface Behind {
  readonly operation: string
  readonly statement: Statement
  /** Reports whether it was carried out, which needs a driver that pipelines. The first call counts. */
  over(isDone: boolean): void
}

/** A connection that is lent for some statements. */
export type Session = Pick<PgClient, 'query'>

const OTHER_CONNECTIONS = 4
/** How long opening a connection may take, including its first answer. */
export const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_DELAY_MS = 10_000
// Much longer than any of our statements takes. If the network drops packets, TCP alone would wait for
// a quarter of an hour.
const ANSWER_TIMEOUT_MS = 60_000
/** How long closing waits for running statements. */
export const CLOSE_TIMEOUT_MS = 3_000

/** The connections of a store, measured if there is a metrics sink. */
export function connectionsFor(
  { source, metrics }: PostgresSettings,
  watch = new ServerWatch(),
  options: Pick<OwnConnectionOptions, 'pipelines'> = {},
): Connections {
  const made =
    'pool' in source
      ? lentConnections(source.pool, watch)
      : ownConnections(source.url, options, watch)
  return metrics === undefined ? made : measured(made, metrics)
}

/** Options for connections of our own. */
export interface OwnConnectionOptions {
  /** The address, as settings for `pg`, instead of a URL. */
  readonly address?: object
  /** Their name in `pg_stat_activity`. */
  readonly applicationName?: string
  /** How long an answer may take. */
  readonly answerWithinMs?: number
  /** Whether statements may be sent behind others; never behind a commit. */
  readonly pipelines?: boolean
}

/** Connections of our own to `url`; by default from the `PG…` variables of the process. */
export function ownConnections(
  url: string | undefined,
  options: OwnConnectionOptions = {},
  watch = new ServerWatch(),
): Connections {
  const pools = new Map<Lane, Promise<PgPool>>()

  const poolOf = (lane: Lane): Promise<PgPool> => {
    let pool = pools.get(lane)
    if (pool === undefined) {
      pool =
        lane === 'commit'
          ? makePool(url, 1, { ...options, pipelines: false })
          : makePool(url, OTHER_CONNECTIONS, options)
      pools.set(lane, pool)
      // Not cached: `pg` may be installed meanwhile, as in tests and notebooks.
      pool.catch(() => pools.delete(lane))
    }
    return pool
  }
  const end = async (): Promise<void> => {
    const all = [...pools.values()]
    pools.clear()
    await Promise.all(all.map(async (pool) => (await pool).end()))
  }
  return connectionsOf(poolOf, true, end, watch, options.answerWithinMs)
}

/** Connections from a pool of the user, which is not closed here. */
export function lentConnections(pool: PgPool, watch = new ServerWatch()): Connections {
  const unguard = guardPool(pool)
  return connectionsOf(
    async () => pool,
    false,
    async () => unguard(),
    watch,
  )
}

/** A pool of our own. */
export async function makePool(
  url: string | undefined,
  max: number,
  { address, applicationName = 'holdfast', pipelines = false }: OwnConnectionOptions = {},
): Promise<PgPool> {
  const { Pool } = await loadDriver()
  const pool = new Pool({
    ...(url === undefined ? address : { connectionString: url }),
    max,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // An idle connection costs the server little, and keeps its prepared statements.
    idleTimeoutMillis: 0,
    allowExitOnIdle: false,
    pipeline: pipelines,
  })
  guardPool(pool)
  return pool
}

/** How many stores use a pool. */
const users = new WeakMap<PgPool, number>()

/**
 * Adds error listeners to a pool and to each new connection, once for each pool. Without a listener, an
 * idle connection that breaks would end the process; so would one that breaks just after the pool has
 * handed it out and removed its own listener. Call the result to stop.
 */
function guardPool(pool: PgPool): () => void {
  const guarded = pool as unknown as Record<'on' | 'removeListener', NewConnection>
  const before = users.get(pool) ?? 0
  users.set(pool, before + 1)
  if (before === 0) {
    pool.on('error', ignore)
    guarded.on('connect', guard)
  }
  return () => {
    const left = users.get(pool)! - 1
    users.set(pool, left)
    if (left > 0) return
    pool.removeListener('error', ignore)
    guarded.removeListener('connect', guard)
  }
}

function guard(client: PgClient): void {
  client.on('error', ignore)
}

type NewConnection = (event: 'connect', listener: (client: PgClient) => void) => unknown

function connectionsOf(
  poolOf: (lane: Lane) => Promise<PgPool>,
  isOurs: boolean,
  end: () => Promise<void>,
  watch: ServerWatch,
  answerWithinMs = ANSWER_TIMEOUT_MS,
): Connections {
  let closed: Promise<void> | undefined
  /** Gives up each of the running statements. */
  const waiting = new Set<() => void>()

  /** Connections in whose sessions statements may stay prepared. */
  const direct = new WeakSet<PgClient>()
  const prepare = async (client: PgClient): Promise<void> => {
    if (watch.knows(client)) return
    const answer = await client.query(firstStatement(client, isOurs))
    if (isDirect(answer)) direct.add(client)
    watch.saw(client, answer)
  }

  const giveUp = (): void => waiting.forEach((each) => each())
  const close = (): Promise<void> => answered('close', end(), CLOSE_TIMEOUT_MS).catch(giveUp)

  const lend = async <T>(
    operation: string,
    lane: Lane,
    use: (client: PgClient) => Promise<T>,
  ): Promise<T> => {
    if (closed) throw new StoreError('closed', operation, 'the store was closed')
    const { promotions } = watch
    const client = await connect(operation, await poolOf(lane))
    let broken = false
    // The pool does not listen to a connection that is lent, and an error without a listener ends the
    // process. The running statement fails as well.
    const onError = (): void => {
      broken = true
    }
    client.on('error', onError)
    try {
      await answered(operation, prepare(client), Math.min(answerWithinMs, CONNECT_TIMEOUT_MS))
      // The server may have changed since this statement was prepared.
      if (watch.promotions !== promotions || watch.hasLeft(client)) throw wasPromoted(operation)
      return await use(client)
    } catch (error) {
      broken ||= dropsConnection(error)
      throw storeError(operation, error)
    } finally {
      // A closed connection may still emit an error.
      if (!broken) client.removeListener('error', onError)
      client.release(broken)
      // Where statements are pipelined, `pg` ends a connection only when all of them are answered.
      if (broken && client.pipeline === true) client.connection?.stream?.destroy()
    }
  }

  const ask = (
    client: PgClient,
    operation: string,
    statement: Statement,
  ): Promise<StatementResult> => {
    const sent = direct.has(client) ? statement : withoutName(statement)
    return answered(operation, client.query(sent), answerWithinMs, waiting)
  }

  /** Resolves with the first answer; gives the connection back after both. */
  const pair = (
    operation: string,
    lane: Lane,
    statement: Statement,
    behind: Behind,
  ): Promise<StatementResult> =>
    new Promise((resolve, reject) => {
      const lent = lend(operation, lane, async (client) => {
        const answer = ask(client, operation, statement)
        if (client.pipeline !== true) {
          behind.over(false)
          return resolve(await answer)
        }
        answer.then(resolve, ignore)
        const [first, second] = await Promise.allSettled([
          answer,
          ask(client, behind.operation, behind.statement),
        ])
        behind.over(second.status === 'fulfilled')
        // Thrown even if only the second one failed: the connection may be broken.
        for (const settled of [first, second]) {
          if (settled.status === 'rejected') throw settled.reason
        }
      })
      lent.catch((error: unknown) => {
        behind.over(false)
        reject(error)
      })
    })

  return {
    query: (operation, lane, statement, behind) =>
      behind === undefined
        ? lend(operation, lane, (client) => ask(client, operation, statement))
        : pair(operation, lane, statement, behind),
    session: (operation, use) => lend(operation, 'other', use),
    close: () => (closed ??= close()),
  }
}

async function connect(operation: string, pool: PgPool): Promise<PgClient> {
  try {
    return await pool.connect()
  } catch (error) {
    if (isUnreadableUrl(error)) throw new StoreError('misconfigured', operation, UNREADABLE_URL)
    throw storeError(operation, error, 'connect', connectWords(pool, error))
  }
}

/**
 * The answer, or `connection_lost` if it does not come in time. Until then `waiting` has a function
 * that gives it up sooner.
 */
export function answered<T>(
  operation: string,
  answer: Promise<T>,
  withinMs: number,
  waiting?: Set<() => void>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = (): void => {
      clearTimeout(timer)
      waiting?.delete(giveUp)
    }
    const lose = (words: string): void => {
      over()
      reject(new StoreError('connection_lost', operation, words))
    }
    const giveUp = (): void => lose('the store was closed before there was an answer')
    const timer = setTimeout(() => lose(`no answer within ${withinMs} ms`), withinMs)
    waiting?.add(giveUp)
    answer.then(resolve, reject).finally(over)
  })
}

/** Without a name, the statement is not left prepared in the session: see `session.ts`. */
function withoutName({ text, values, types }: Statement): Statement {
  return { text, ...(values && { values }), ...(types && { types }) }
}

function ignore(): void {}
