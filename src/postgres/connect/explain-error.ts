import { StoreError } from '../../store/store-error.ts'
import type { Connections } from './connections.ts'
import type { PgPool } from './driver.ts'
import { quoted } from './schema-name.ts'

// Adds to an error of the server or the driver what is needed to fix it: the address, the user, and
// what to do. A password is never shown.

/** The address of connections, as far as the driver has it. */
interface Address {
  readonly host?: string
  readonly port?: number
  readonly user?: string
  readonly database?: string
}

/** The message for a connection that failed. */
export function connectWords(pool: PgPool, error: unknown): string {
  const { host, port, user, database } = addressOf(pool) ?? {}
  const at = host === undefined ? '' : ` at ${host}, port ${port}`
  const as = user === undefined ? '' : ` as user "${user}"`
  const to = database === undefined ? '' : ` to database "${database}"`
  return `cannot connect to PostgreSQL${at}${as}${to}: ${reasonOf(error)}`
}

/**
 * The address that the driver derives from the settings of a pool, the variables of the process and its
 * own defaults. Opens no connection.
 */
function addressOf(pool: PgPool): Address | undefined {
  const { Client, options } = pool as unknown as {
    readonly Client?: new (options: object) => Address
    readonly options?: { readonly stream?: unknown }
  }
  // A custom stream may lead anywhere.
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
  ENOTFOUND: 'there is no host with this name',
  ENOENT: 'there is no such socket; is the server running?',
  ETIMEDOUT: 'no answer; is the address right, and does a firewall allow it?',
  '28P01': 'check the user and the password',
  '3D000': 'create the database, or name another one',
}

function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error
  const { code, message = String(first) } = (first ?? {}) as { code?: unknown; message?: string }
  if (/password must be a string|no password supplied/i.test(message)) {
    return 'the server requires a password and none was given; add it to the URL, or set PGPASSWORD'
  }
  const advice = code === NOT_AUTHORIZED ? adviceForUser(message) : ADVICE[String(code)]
  return advice === undefined ? message : `${message}; ${advice}`
}

const NOT_AUTHORIZED = '28000'

/** The server has one code for a role that does not exist, cannot log in, or not from this host. */
function adviceForUser(message: string): string | undefined {
  if (message.includes('pg_hba.conf')) {
    return 'pg_hba.conf of the server does not allow this user to connect from this host'
  }
  if (/^role .* does not exist$/.test(message)) return 'create it, or name another user'
  return undefined
}

/** Whether the driver could not parse the URL. */
export function isUnreadableUrl(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'ERR_INVALID_URL'
}

/** The message for that. Neither the URL nor the driver's error is shown: both contain the password. */
export const UNREADABLE_URL =
  'the URL cannot be read: the port must be a number, and in a user name or password the characters ' +
  ': / ? # [ ] @ % must be percent-encoded (encodeURIComponent)'

const INSUFFICIENT_PRIVILEGE = '42501'

/** The same error; if the role lacks privileges in the schema, with the grants it needs. */
export async function withRights(
  schema: string,
  operation: string,
  error: unknown,
  connections: Pick<Connections, 'query'>,
): Promise<unknown> {
  if (!(error instanceof StoreError)) return error
  const { code, message } = (error.cause ?? {}) as { code?: unknown; message?: string }
  // The error of a migration already says what to do.
  if (code !== INSUFFICIENT_PRIVILEGE || error.message.includes('migrationSql')) return error
  const needed = grants(quoted(schema), await roleOf(connections))
  return new StoreError(error.code, operation, `${message}; ${needed}`, { cause: error.cause })
}

/** The role that statements run as, which may differ from the user of the connection. */
async function roleOf({ query }: Pick<Connections, 'query'>): Promise<string | undefined> {
  try {
    const { rows } = await query('role', 'other', { text: 'select current_user::text as role' })
    const { role } = rows[0] as { role?: unknown }
    return typeof role === 'string' ? quoted(role) : undefined
  } catch {
    return undefined
  }
}

function grants(name: string, role: string | undefined): string {
  const whom = role ?? 'app'
  const who = role === undefined ? 'the role of this connection, here called app' : `role ${role}`
  return (
    `the owner of the schema has to grant ${who} the missing privileges: ` +
    `grant usage on schema ${name} to ${whom}; ` +
    `grant select, insert, update, delete on all tables in schema ${name} to ${whom}; ` +
    `grant usage, select, update on all sequences in schema ${name} to ${whom}`
  )
}
