import type { PostgresSettings } from '../connect/options.ts'

// The settings of a pool that are about the address and the login; the others are about the pool.
const ADDRESS = [
  'connectionString',
  'host',
  'port',
  'user',
  'password',
  'database',
  'ssl',
  'sslnegotiation',
  'enableChannelBinding',
  'options',
  'client_encoding',
] as const

/** A password that each connection asks for. `pg` passes the address of the connection. */
export type PasswordFunction = (parameters: object) => unknown

/** The address of a store's connections, for a thread. */
export interface LeaseAddress {
  /** Settings for `pg` that can be sent to a thread; `undefined` for the `PG…` variables. */
  readonly address: object | undefined
  /** Called in the main thread, since a function cannot be sent. */
  readonly password: PasswordFunction | undefined
}

/** The address of a store's connections. Throws an `Error` with the reason if it cannot be sent. */
export function addressOf(source: PostgresSettings['source']): LeaseAddress {
  if (!('pool' in source)) {
    const { url } = source
    return {
      address: url === undefined ? undefined : { connectionString: url },
      password: undefined,
    }
  }
  const { options } = source.pool as { options?: Readonly<Record<string, unknown>> }
  if (options === undefined) throw new Error('the pool does not say which address it connects to')
  // A custom client or socket may lead anywhere.
  const own = ['Client', 'stream'].find((name) => options[name] !== undefined)
  if (own !== undefined) throw new Error(`the pool has a custom ${own}`)
  const password = passwordFunction(options['password'])
  const address = ADDRESS.flatMap((name): [string, unknown][] => {
    const value = options[name]
    if (value === undefined || (name === 'password' && password !== undefined)) return []
    return [[name, name === 'ssl' ? sslWithKey(value) : value]]
  })
  for (const [name, value] of address) {
    try {
      structuredClone(value)
    } catch {
      throw new Error(`the pool's setting ${name} cannot be sent to a thread`)
    }
  }
  return { address: Object.fromEntries(address), password }
}

function passwordFunction(password: unknown): PasswordFunction | undefined {
  return typeof password === 'function' ? (password as PasswordFunction) : undefined
}

// `pg` makes the key non-enumerable, and then it would not be sent.
function sslWithKey(ssl: unknown): unknown {
  if (typeof ssl !== 'object' || ssl === null) return ssl
  const { key } = ssl as { key?: unknown }
  return key === undefined ? ssl : { ...ssl, key }
}
