import { describe } from '../../base/describe.ts'
import { type Metrics, metricsSink } from '../../base/metrics.ts'
import { having, oneOf, option, type Resolved, resolveOptions } from '../../base/options.ts'
import { maxOf, type PgPool } from './driver.ts'
import { harmlessSink } from './metrics.ts'
import { checkSchemaName } from './schema-name.ts'

/** Which database, and where in it. */
export interface PostgresOptions {
  /**
   * The database, as `postgres://user:password@host:port/name`.
   *
   * @default what the `PGHOST`, `PGUSER`, … variables of the process say
   */
  readonly url?: string
  /**
   * A `pg.Pool` to take connections from, instead of `url`. You create it and end it. It should allow
   * six connections more than you use yourself.
   */
  readonly pool?: unknown
  /**
   * The name of the schema for the tables. It is created if it does not exist.
   *
   * @default 'holdfast'
   */
  readonly schema?: string
  /**
   * Whether processes notify each other of new work through LISTEN and NOTIFY. When `off`, they find
   * it by polling, which may take ten seconds.
   *
   * @default 'auto'
   */
  readonly notify?: 'auto' | 'off'
  /**
   * An address of the same database that bypasses a pooler such as PgBouncer, for the one connection
   * that listens: poolers in transaction mode lose notifications.
   *
   * @default as all other connections
   */
  readonly listenUrl?: string
  /**
   * Receives measurements of database calls: how many there are, how long they take, how many fail,
   * and how many items they carry, by procedure. Without it nothing is measured.
   */
  readonly metrics?: Metrics
}

/** The options with all defaults filled in. */
export interface PostgresSettings {
  readonly source: PostgresSource
  readonly schema: string
  /** Where the listen connection comes from; `undefined` for none. */
  readonly listenTo?: ListenSource | undefined
  /** Never throws: see `harmlessSink`. */
  readonly metrics?: Metrics | undefined
}

/** Where connections come from. */
export type PostgresSource = { readonly url: string | undefined } | { readonly pool: PgPool }

/** Where the listen connection comes from; `isForListening` if `listenUrl` was given. */
export type ListenSource = PostgresSource & { readonly isForListening?: true }

/** The option checks, for functions that take these options beside their own. */
export const POSTGRES_OPTIONS = {
  url: option(databaseUrl, undefined),
  pool: option(having<PgPool>('a pg.Pool', ['connect', 'on', 'removeListener']), undefined),
  schema: option(checkSchemaName, 'holdfast'),
  notify: oneOf(['auto', 'off'], 'auto'),
  listenUrl: option(databaseUrl, undefined),
  metrics: option(metricsSink, undefined),
}

/** Checks options and fills in the defaults. */
export function postgresSettings(given: PostgresOptions = {}): PostgresSettings {
  return settingsOf('postgres', resolveOptions('postgres', given, POSTGRES_OPTIONS))
}

/** Settings from checked options; `owner` is the function that was given them. */
export function settingsOf(
  owner: string,
  given: Resolved<typeof POSTGRES_OPTIONS>,
): PostgresSettings {
  const { url, pool, schema, notify, listenUrl, metrics } = given
  if (url !== undefined && pool !== undefined) {
    throw new TypeError(`${owner}: give url or pool, not both`)
  }
  if (notify === 'off' && listenUrl !== undefined) {
    throw new TypeError(`${owner}: listenUrl has no use when notify is 'off'`)
  }
  if (pool !== undefined && notify === 'auto' && listenUrl === undefined) checkRoom(owner, pool)
  const source = pool === undefined ? { url } : { pool }
  const listenSource: ListenSource =
    listenUrl === undefined ? source : { url: listenUrl, isForListening: true }
  return {
    source,
    schema,
    metrics: metrics && harmlessSink(metrics),
    listenTo: notify === 'off' ? undefined : listenSource,
  }
}

/** The listen connection is kept: without another one, every statement would wait forever. */
function checkRoom(owner: string, pool: PgPool): void {
  const max = maxOf(pool)
  if (max > 1) return
  throw new RangeError(
    `${owner}: pool must allow more than one connection, since one is kept for listening, got ` +
      `max: ${max}; six are enough, or set notify: 'off'`,
  )
}

function databaseUrl(value: unknown, what: string): string {
  if (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value)) return value
  // It may contain a password.
  const shown = typeof value === 'string' ? 'another string' : describe(value)
  throw new TypeError(`${what} must start with "postgres://", got ${shown}`)
}
