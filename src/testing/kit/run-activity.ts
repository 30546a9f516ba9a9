import { describe } from '../../base/describe.ts'
import { defaultLog, type Logger, logger } from '../../base/log.ts'
import { number, option, resolveOptions } from '../../base/options.ts'
import { parse } from '../../base/schema.ts'
import { checkSignal } from '../../base/sync/signal.ts'
import type { ActivityContext } from '../../engine/define/activity-context.ts'
import type { Client } from '../../engine/define/client.ts'
import type { Activity, ActivityDefinition } from '../../engine/define/definitions.ts'
import { checkId } from '../../engine/define/names.ts'
import { valuesOf } from '../../engine/core/values.ts'
import { openConnection, type SqliteDatabase, type Value } from '../../sqlite/connect/driver.ts'
import { TransactStatements } from '../../sqlite/transactions/transact-statements.ts'

/** How an activity is called by itself. */
export interface RunActivityOptions {
  /** The number of the attempt. @default 1 */
  attempt?: number
  /** What an earlier attempt last reported. @default undefined */
  lastHeartbeat?: unknown
  /** Aborts the attempt. The activity goes on, as in production, unless it looks at `ctx.signal`. */
  signal?: AbortSignal
  /** The key that all attempts share. @default 'test' */
  idempotencyKey?: string
  /** What the activity sees as `ctx.client`, such as a test runtime. @default none: using it throws */
  client?: Client
  /** Where `ctx.log` writes. @default warnings and errors to stderr */
  log?: Logger
  /**
   * The database of a transaction of `holdfast/sqlite`. Its statements are committed when the activity
   * returns, and rolled back when it throws. @default an empty one in memory
   */
  database?: SqliteDatabase
}

/** What an activity did. */
export interface ActivityRun<O> {
  /** What it returned, as a workflow receives it. */
  readonly output: O
  /** What it passed to `ctx.heartbeat`, in order. */
  readonly heartbeats: readonly unknown[]
}

/**
 * Runs one activity by itself, with a context that the test chooses. Its input passes the schema of the
 * activity, and input and result are encoded and decoded, as between processes.
 *
 * @example
 * const { output, heartbeats } = await runActivity(importRows, 'rows.csv', { lastHeartbeat: 500 })
 */
export async function runActivity<I, O>(
  activity: Activity<I, O>,
  input: NoInfer<I>,
  options?: RunActivityOptions,
): Promise<ActivityRun<O>> {
  const definition = activity as Activity<never, unknown> as ActivityDefinition
  const { name, run, input: schema, transaction } = checkDefinition(definition)
  const given = resolveOptions(`runActivity "${name}"`, options, {
    attempt: number({ min: 1, integer: true }, 1),
    lastHeartbeat: option((value) => value, undefined),
    signal: option(signalOf, undefined),
    idempotencyKey: option(checkId, 'test'),
    client: option((value) => value as Client, undefined),
    log: option(logger, defaultLog),
    database: option((value) => value as SqliteDatabase, undefined),
  })
  const values = valuesOf(undefined)
  const copy = (value: unknown, what: string): unknown =>
    values.value(values.encode(value, `activity "${name}": its ${what}`))
  const sent = copy(input, 'input')
  const parsed =
    schema === undefined ? sent : await parse(schema, sent, `activity "${name}": its input`)
  const heartbeats: unknown[] = []
  const context: ActivityContext = {
    info: { instanceId: 'test', workflow: 'test', activity: name },
    signal: given.signal ?? new AbortController().signal,
    attempt: given.attempt,
    idempotencyKey: given.idempotencyKey,
    lastHeartbeat: copy(given.lastHeartbeat, 'lastHeartbeat'),
    log: given.log,
    get client(): Client {
      if (given.client !== undefined) return given.client
      throw new TypeError(
        `activity "${name}" uses ctx.client: give runActivity a client, such as a test runtime`,
      )
    },
    heartbeat: (details) => void heartbeats.push(copy(details, 'heartbeat')),
  }
  if (transaction === 'postgres') {
    throw new TypeError(
      `runActivity: "${name}" is a transaction of holdfast/postgres, which needs a PostgreSQL server; ` +
        'run it in a workflow on a test schema, or move its SQL into a function that takes tx',
    )
  }
  const output =
    transaction === undefined
      ? await run!(parsed as never, context)
      : inTransaction(name, given.database, (tx) =>
          run!(parsed as never, Object.defineProperty(context, 'tx', { value: tx })),
        )
  return { output: copy(output, 'result') as O, heartbeats }
}

function checkDefinition(activity: ActivityDefinition): ActivityDefinition {
  if ((activity as { kind?: unknown } | undefined)?.kind !== 'activity') {
    throw new TypeError(`runActivity: needs an activity, got ${describe(activity)}`)
  }
  if (activity.run === undefined) {
    throw new TypeError(
      `runActivity: activity "${activity.name}" is a contract; run its implementation, what implement() returned`,
    )
  }
  return activity
}

/** Runs the code of a transaction on a database: committed when it returns, rolled back when it throws. */
function inTransaction(
  name: string,
  given: SqliteDatabase | undefined,
  run: (tx: TransactStatements) => unknown,
): unknown {
  const database = given ?? openConnection(':memory:', undefined)
  const statements = new TransactStatements((sql) => {
    const statement = database.prepare(sql)
    const all = (...values: Value[]): unknown[] => statement.all(...values)
    return {
      all,
      run: (...values) => Number(statement.run(...values).changes),
      lists: (...values) => (all(...values) as object[]).map((row) => Object.values(row)),
      get: (...values) => statement.get(...values),
    }
  })
  database.exec('begin immediate')
  try {
    const output = run(statements)
    if (output instanceof Promise) {
      output.catch(() => {})
      throw new TypeError(
        `transaction "${name}": its code must not be async, and must return no promise`,
      )
    }
    statements.end()
    database.exec('commit')
    return output
  } catch (error) {
    statements.close()
    database.exec('rollback')
    throw error
  } finally {
    if (given === undefined) database.close()
  }
}

function signalOf(value: unknown, what: string): AbortSignal {
  checkSignal(value, what)
  return value!
}
