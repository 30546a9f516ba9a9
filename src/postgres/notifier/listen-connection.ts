import { answered, CONNECT_TIMEOUT_MS } from '../connect/connections.ts'
import { maxOf, type PgClient, type PgPool } from '../connect/driver.ts'
import { quoted } from '../connect/schema-name.ts'
import { firstStatement, isDirect } from '../connect/session.ts'

/** Is told what comes through an ear. */
export interface ListenHost {
  heard(channel: string, payload: string): void
  /** The connection is gone; nothing more will be heard through it. Called once. */
  lost(error: Error): void
}

/** A connection that hears notifications. Its methods reject when it is gone. */
export interface ListenConnection {
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  /** Ends it. `lost` is not called any more. */
  close(): void
}

/** Opens an ear. */
export type OpenListenConnection = (host: ListenHost) => Promise<ListenConnection>

/** What a connection says besides answers. */
interface ListeningClient extends PgClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: Notification) => void): unknown
}

interface Notification {
  readonly channel: string
  readonly payload?: string
}

/** Which connections ears are made of. */
export interface ListenConnectionOptions {
  /** Whether they are ours, and set up as such. */
  readonly isOurs: boolean
  /**
   * Whether the address was given for listening: then a pooler on the way is one that keeps sessions
   * apart.
   */
  readonly isForListening: boolean
}

/** Hears nothing: what to listen through is a session that is not ours alone, see `session.ts`. */
const NOT_LISTENING: ListenConnection = {
  listen: async () => {},
  unlisten: async () => {},
  close() {},
}

/** How many connections of a pool are kept for ears. */
const kept = new WeakMap<PgPool, number>()

/**
 * Counts one more. The last connection of a user's pool is left to everything else, which would wait
 * for one for ever.
 */
function keepOne(pool: PgPool, isOurs: boolean): () => void {
  const count = kept.get(pool) ?? 0
  const max = maxOf(pool)
  if (!isOurs && count >= max - 1) {
    throw new Error(
      `the pool has room for ${max} connections, and ${count} of them listen already; make it ` +
        'larger, or use one postgres() for all',
    )
  }
  kept.set(pool, count + 1)
  return () => void kept.set(pool, kept.get(pool)! - 1)
}

/** Ears that take a connection of a pool and keep it: LISTEN belongs to one session. */
export function listenConnectionsFrom(
  pool: PgPool,
  { isOurs, isForListening }: ListenConnectionOptions,
): OpenListenConnection {
  return async (host) => {
    const leave = keepOne(pool, isOurs)
    const client = (await pool.connect().catch((error: unknown) => {
      leave()
      throw error
    })) as ListeningClient
    let open = true
    const end = (): boolean => {
      const was = open
      open = false
      if (was) leave()
      // Ended, not given back: whoever got it next would hear what is not meant for them.
      if (was) client.release(true)
      return was
    }
    const gone = (error: Error): void => {
      if (end()) host.lost(error)
    }
    // They stay: what has ended may still have something to say, and an error that nobody listens
    // to would end the process.
    client.on('error', gone)
    client.on('end', () => gone(new Error('the connection ended')))
    client.on('notification', ({ channel, payload = '' }) => {
      if (open) host.heard(channel, payload)
    })
    const run = async (text: string): Promise<void> => {
      await client.query({ text })
    }
    try {
      const first = client.query(firstStatement(client, isOurs))
      const answer = await answered('listen', first, CONNECT_TIMEOUT_MS)
      if (!isForListening && !isDirect(answer)) {
        end()
        return NOT_LISTENING
      }
    } catch (error) {
      end()
      throw error
    }
    return {
      listen: (channel) => run(`listen ${quoted(channel)}`),
      unlisten: (channel) => run(`unlisten ${quoted(channel)}`),
      close: () => void end(),
    }
  }
}
