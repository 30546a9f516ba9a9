import type { PostgresSettings } from '../connect/options.ts'

// What of a pool's settings says where it leads, and how to get in; the rest is about the pool.
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

/** A password that is asked for anew by each connection. `pg` tells it where that leads. */
export type PasswordFunction = (parameters: object) => unknown

/** Where a store's connections lead. */
export interface LeaseAddress {
  /** As data that can be sent to a thread: for `pg`, or `undefined` for what `PG…` variables say. */
  readonly address: object | undefined
  /** To be asked for in the thread that has it. */
  readonly password: PasswordFunction | undefined
}

/** Where a store's connections lead. Throws an `Error` with the reason when it cannot be sent. */
export function addressOf(source: PostgresSettings['source']): LeaseAddress {
  if (!('pool' in source)) {
    const { url } = source
    return {
      address: url === undefined ? undefined : { connectionString: url },
      password: undefined,
    }
  }
  const { options } = source.pool as { options?: Readonly<Record<string, unknown>> }
  if (options === undefined) throw new Error('the pool does not say where its connections lead')
  // A client, or a socket, of the user's making may lead anywhere.
  const own = ['Client', 'stream'].find((name) => options[name] !== undefined)
  if (own !== undefined) throw new Error(`the pool has a ${own} of its own`)
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

// `pg` hides the key from those who list properties, as sending does.
function sslWithKey(ssl: unknown): unknown {
  if (typeof ssl !== 'object' || ssl === null) return ssl
  const { key } = ssl as { key?: unknown }
  return key === undefined ? ssl : { ...ssl, key }
}
