import { moduleUrl } from '../../base/threads/module-url.ts'
import { requireWith } from '../../base/peer.ts'
import { StoreError } from '../../store/store-error.ts'

// What is used of `pg`, written down here so that our declarations need none of its types.

/** One statement, as `pg` takes it. */
export interface Statement {
  /** Prepared under this name, once per connection. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
  readonly types?: { getTypeParser(): (value: string) => unknown }
}

/** What a statement brought. */
export interface StatementResult {
  readonly rows: readonly unknown[]
}

/** A connection that was taken from a pool. */
export interface PgClient {
  /** The process of the server that serves it, as was told when connecting. */
  readonly processID?: number | null
  /** Whether a statement is sent at once, though the one before it has no answer yet. */
  readonly pipeline?: boolean
  /** Where it leads to. */
  readonly connection?: { readonly stream?: { destroy(): unknown } }
  query(statement: Statement): Promise<StatementResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** With `true`, the connection is ended instead of given back. */
  release(destroy?: boolean): void
}

/** A pool of connections: `pg.Pool` fits. */
export interface PgPool {
  connect(): Promise<PgClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
}

/** How many connections a pool has at the most, if it says so. */
export function maxOf(pool: PgPool): number {
  const { max } = (pool as { options?: { max?: unknown } }).options ?? {}
  return typeof max === 'number' ? max : Infinity
}

/** Settings of a pool that we make ourselves. */
export interface PgPoolSettings {
  readonly connectionString?: string
  readonly max: number
  readonly application_name: string
  readonly keepAlive: boolean
  readonly keepAliveInitialDelayMillis: number
  readonly connectionTimeoutMillis: number
  readonly idleTimeoutMillis: number
  readonly allowExitOnIdle: boolean
  /** Versions that cannot do it pass over it. */
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
