import type { PostgresSettings } from './options.ts'

// What of a pool's settings says where it leads; the rest is about the pool.
const ADDRESS = ['connectionString', 'host', 'port', 'user', 'password', 'database', 'ssl'] as const

/**
 * Where a store's connections lead, as data that can be sent to a thread: for `pg`, or `undefined`
 * for what the `PG…` variables say. Throws an `Error` with the reason when it cannot be sent.
 */
export function addressOf(source: PostgresSettings['source']): object | undefined {
  if (!('pool' in source)) {
    return source.url === undefined ? undefined : { connectionString: source.url }
  }
  const { options } = source.pool as { options?: Readonly<Record<string, unknown>> }
  if (options === undefined) throw new Error('the pool does not say where its connections lead')
  // A client, or a socket, of the user's making may lead anywhere.
  const own = ['Client', 'stream'].find((name) => options[name] !== undefined)
  if (own !== undefined) throw new Error(`the pool has a ${own} of its own`)
  const address = ADDRESS.flatMap((name): [string, unknown][] => {
    const value = options[name]
    return value === undefined ? [] : [[name, name === 'ssl' ? wholeSsl(value) : value]]
  })
  for (const [name, value] of address) {
    try {
      structuredClone(value)
    } catch {
      throw new Error(`the pool's setting ${name} cannot be sent to a thread`)
    }
  }
  return Object.fromEntries(address)
}

// `pg` hides the key from those who list properties, as sending does.
function wholeSsl(ssl: unknown): unknown {
  if (typeof ssl !== 'object' || ssl === null) return ssl
  const { key } = ssl as { key?: unknown }
  return key === undefined ? ssl : { ...ssl, key }
}
