import { answered, CONNECT_TIMEOUT_MS } from '../connect/connections.ts'
import { maxOf, type PgClient, type PgPool } from '../connect/driver.ts'
import { quoted } from '../connect/schema-name.ts'
import { firstStatement, isDirect } from '../connect/session.ts'

/** Receives what arrives through a listen connection. */
export interface ListenHost {
  received(channel: string, payload: string): void
  /** The connection is lost, and nothing more arrives through it. Called once. */
  lost(error: Error): void
}

/** A connection that receives notifications. Its methods reject once it is lost. */
export interface ListenConnection {
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  /** Closes it; `lost` is not called afterwards. */
  close(): void
}

/** Opens a listen connection. */
export type OpenListenConnection = (host: ListenHost) => Promise<ListenConnection>

/** The events of a connection besides results. */
interface ListeningClient extends PgClient {
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: ReceivedNotification) => void): unknown
}

interface ReceivedNotification {
  readonly channel: string
  readonly payload?: string
}

/** Where listen connections come from. */
export interface ListenConnectionOptions {
  /** Whether the pool is ours, so that its sessions get our settings. */
  readonly isOurs: boolean
  /**
   * Whether the address was given for listening (`listenUrl`). A pooler behind it is then trusted to
   * keep sessions apart.
   */
  readonly isForListening: boolean
}

/** Receives nothing: behind a pooler the session is shared, and LISTEN must not be left in it. */
const NOT_LISTENING: ListenConnection = {
  listen: async () => {},
  unlisten: async () => {},
  close() {},
}

/** How many connections of a pool are kept for listening. */
const kept = new WeakMap<PgPool, number>()

/**
 * Counts one more. The last connection of a user's pool is left to other statements, which would
 * otherwise wait forever.
 */
function keepOne(pool: PgPool, isOurs: boolean): () => void {
  const count = kept.get(pool) ?? 0
  const max = maxOf(pool)
  if (!isOurs && count >= max - 1) {
    throw new Error(
      `the pool has at most ${max} connections, and ${count} of them listen already; raise its max, ` +
        'or share one postgres() store',
    )
  }
  kept.set(pool, count + 1)
  return () => void kept.set(pool, kept.get(pool)! - 1)
}

/** Listen connections that are taken from a pool and kept: LISTEN belongs to one session. */
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
      // Closed rather than returned: its next user would receive our notifications.
      if (was) client.release(true)
      return was
    }
    const gone = (error: Error): void => {
      if (end()) host.lost(error)
    }
    // Never removed: a closed connection may still emit an error, and an error without a listener
    // ends the process.
    client.on('error', gone)
    client.on('end', () => gone(new Error('the connection ended')))
    client.on('notification', ({ channel, payload = '' }) => {
      if (open) host.received(channel, payload)
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
