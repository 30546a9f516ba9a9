import { describe } from '../base/describe.ts'
import { having, option, resolveOptions } from '../base/options.ts'
import type { PgPool } from './driver.ts'
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
   * room for five connections more than you use yourself.
   */
  readonly pool?: unknown
  /**
   * The schema that holds the tables; any name will do. It is created when missing.
   *
   * @default 'holdfast'
   */
  readonly schema?: string
}

/** The same, complete. */
export interface PostgresSettings {
  readonly source: { readonly url: string | undefined } | { readonly pool: PgPool }
  readonly schema: string
}

/** Checks options and fills in the defaults. */
export function postgresSettings(given: PostgresOptions = {}): PostgresSettings {
  const { url, pool, schema } = resolveOptions('postgres', given, {
    url: option(databaseUrl, undefined),
    pool: option(having<PgPool>('a pg.Pool', ['connect', 'on', 'removeListener']), undefined),
    schema: option(checkSchemaName, 'holdfast'),
  })
  if (url !== undefined && pool !== undefined) {
    throw new TypeError('postgres: give url or pool, not both')
  }
  return { source: pool === undefined ? { url } : { pool }, schema }
}

function databaseUrl(value: unknown, what: string): string {
  if (typeof value === 'string' && /^postgres(ql)?:\/\//.test(value)) return value
  // Whatever it is, it may hold a password.
  const shown = typeof value === 'string' ? 'another text' : describe(value)
  throw new TypeError(`${what} must start with "postgres://", got ${shown}`)
}
