import { moduleUrl } from '../../base/threads/module-url.ts'
import { requireWith } from '../../base/peer.ts'
import { StoreError } from '../../store/store-error.ts'

// The parts of `pg` that are used, declared here so that our declarations do not need its types.

/** One statement, as `pg` takes it. */
export interface Statement {
  /** Prepared under this name, once per connection. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
  readonly types?: { getTypeParser(): (value: string) => unknown }
  /** Sends it as one statement even without values. Ignored by `pg` before 8.12. */
  readonly queryMode?: 'extended'
}

/** The result of a statement. */
export interface StatementResult {
  readonly rows: readonly unknown[]
}

/** A connection that was taken from a pool. */
export interface PgClient {
  /** The process id of the server, as reported when connecting. */
  readonly processID?: number | null
  /** Whether statements are sent without waiting for the answer of the one before. */
  readonly pipeline?: boolean
  /** Its socket. */
  readonly connection?: { readonly stream?: { destroy(): unknown } }
  query(statement: Statement): Promise<StatementResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With `true`, the connection is closed instead of returned to the pool. */
  release(destroy?: boolean): void
}

/** A pool of connections: `pg.Pool` fits. */
export interface PgPool {
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
}

/** The maximum number of connections of a pool, if it has one. */
export function maxOf(pool: PgPool): number {
  const { max } = (pool as { options?: { max?: unknown } }).options ?? {}
  return typeof max === 'number' ? max : Infinity
}

/** Settings of a pool of our own. */
export interface PgPoolSettings {
  readonly connectionString?: string
  readonly max: number
  readonly application_name: string
  readonly keepAlive: boolean
  readonly keepAliveInitialDelayMillis: number
  readonly connectionTimeoutMillis: number
  readonly idleTimeoutMillis: number
  readonly allowExitOnIdle: boolean
  /** Ignored by versions that cannot pipeline. */
  readonly pipeline: boolean
}

/** The part of the package that makes pools. */
export interface PgDriver {
  readonly Pool: new (settings: PgPoolSettings) => PgPool
}

/** Loads `pg`, which users install beside this package. */
export async function loadDriver(): Promise<PgDriver> {
  const require = requireWith('pg', moduleUrl(import.meta.url))
  try {
    if (require === undefined) throw new Error('it is not installed')
    return require('pg') as PgDriver
  } catch (error) {
    throw new StoreError(
      'misconfigured',
      'open',
      'the package "pg" is needed for PostgreSQL and cannot be loaded: run `npm install pg`, and if you ' +
        'use a bundler, keep it external',
      { cause: error },
    )
  }
}
