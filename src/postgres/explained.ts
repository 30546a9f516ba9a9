import { StoreError } from '../store/store-error.ts'
import type { PgPool } from './driver.ts'
import { quoted } from './schema-name.ts'

// What a stranger has to know to mend an error of the server or the driver: where it was, as whom, and
// what to do. A password is never among it.

/** Where connections lead, as far as the driver tells. */
interface Address {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly database?: string
}

/** Why there is no connection, in words. */
export function connectWords(pool: PgPool, error: unknown): string {
  const { host, port, user, database } = addressOf(pool) ?? {}
  const at = host === undefined ? '' : ` at ${host}, port ${port}`
  const as = user === undefined ? '' : ` as user "${user}"`
  const to = database === undefined ? '' : ` to database "${database}"`
  return `cannot connect to PostgreSQL${at}${as}${to}: ${reasonOf(error)}`
}

/**
 * What the driver makes of the settings of a pool, the variables of the process and its own defaults.
 * Nothing is connected for it.
 */
function addressOf(pool: PgPool): Address | undefined {
  const { Client, options } = pool as unknown as {
    readonly Client?: new (options: object) => Address
    readonly options?: { readonly stream?: unknown }
  }
  // A stream of the user's making leads where only it knows.
  if (Client === undefined || options === undefined || options.stream !== undefined)
    return undefined
  try {
    return new Client(options)
  } catch {
    return undefined
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; is the server running, and is the port right?',
  ENOTFOUND: 'there is no host of this name',
  ENOENT: 'there is no such socket; is the server running?',
  ETIMEDOUT: 'nothing answers there; is the address right, and does a firewall let it through?',
  '28P01': 'check the user and the password',
  '28000': 'pg_hba.conf of the server does not let this user in from here',
  '3D000': 'create the database, or name another one',
}

function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error
  const { code, message = String(first) } = (first ?? {}) as { code?: unknown; message?: string }
  if (/password must be a string|no password supplied/i.test(message)) {
    return 'the server asks for a password, and none was given; put it into the URL, or set PGPASSWORD'
  }
  const advice = ADVICE[String(code)]
  return advice === undefined ? message : `${message}; ${advice}`
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** The same error; for one about rights that a role lacks in the schema, with those it needs. */
export function withRights(schema: string, operation: string, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error
  const { code, message } = (error.cause ?? {}) as { code?: unknown; message?: string }
  // Who may not change the schema was told what to do.
  if (code !== INSUFFICIENT_PRIVILEGE || error.message.includes('migrationSql')) return error
  return new StoreError(error.code, operation, `${message}; ${grants(quoted(schema))}`, {
    cause: error.cause,
  })
}

function grants(name: string): string {
  return (
    `its owner has to grant the role of this connection, here called app: ` +
    `grant usage on schema ${name} to app; ` +
    `grant select, insert, update, delete on all tables in schema ${name} to app; ` +
    `grant usage, update on all sequences in schema ${name} to app`
  )
}
