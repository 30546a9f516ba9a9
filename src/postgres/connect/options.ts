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
   * A `pg.Pool` to take connections from, instead of `url`. It stays yours to end. It should have
   * room for six connections more than you use yourself.
   */
  readonly pool?: unknown
  /**
   * The schema that holds the tables; any name will do. It is created when missing.
   *
   * @default 'holdfast'
   */
  readonly schema?: string
  /**
   * Whether processes tell each other at once what they did, by LISTEN and NOTIFY. When `off`, each
   * finds out by asking, which may take ten seconds.
   *
   * @default 'auto'
   */
  readonly notify?: 'auto' | 'off'
  /**
   * The same database by an address that leads past a pooler such as PgBouncer, for the one
   * connection that listens: poolers in transaction mode lose what should be heard.
   *
   * @default as all other connections
   */
  readonly listenUrl?: string
  /**
   * Where measurements of calls of the database go: how many there are, how long they take, how many
   * fail, and how much they are about, each by procedure. Nothing is measured without one.
   */
  readonly metrics?: Metrics
}

/** The same, complete. */
export interface PostgresSettings {
  readonly source: PostgresSource
  readonly schema: string
  /** Where the connection that hears hints comes from; `undefined` when none is wanted. */
  readonly listenTo?: ListenSource | undefined
  /** Harms nobody when it throws. */
  readonly metrics?: Metrics | undefined
}

/** Where connections come from. */
export type PostgresSource = { readonly url: string | undefined } | { readonly pool: PgPool }

/** The same for the connection that hears hints, which `listenUrl` may have been given for. */
export type ListenSource = PostgresSource & { readonly isForListening?: true }

/** What is known, for whoever takes these options beside some of its own. */
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

/** What options that were checked come to; `owner` is who was given them. */
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
  const listenConnections: ListenSource =
    listenUrl === undefined ? source : { url: listenUrl, isForListening: true }
  return {
    source,
    schema,
    metrics: metrics && harmlessSink(metrics),
    listenTo: notify === 'off' ? undefined : listenConnections,
  }
}

/** The connection that listens is kept: with no other one, everything would wait for ever. */
function checkRoom(owner: string, pool: PgPool): void {
  const max = maxOf(pool)
  if (max > 1) return
  throw new RangeError(
    `${owner}: pool must have room for more than the one connection that is kept for hints, got ` +
      `max: ${max}; six are enough, or give notify: 'off'`,
  )
}

function databaseUrl(value: unknown, what: string): string {
  if (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value)) return value
  // Whatever it is, it may hold a password.
  const shown = typeof value === 'string' ? 'another text' : describe(value)
  throw new TypeError(`${what} must start with "postgres://", got ${shown}`)
}
