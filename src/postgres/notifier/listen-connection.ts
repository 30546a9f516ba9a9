import { answered, CONNECT_TIMEOUT_MS } from '../connect/connections.ts'
import type { PgClient, PgPool } from '../connect/driver.ts'
import { quoted } from '../connect/schema-name.ts'
import { firstStatement, isDirect } from '../connect/session.ts'

/** Is told what comes through an ear. */
export interface EarHost {
  heard(channel: string, payload: string): void
  /** The connection is gone; nothing more will be heard through it. Called once. */
  lost(error: Error): void
}

/** A connection that hears notifications. Its methods reject when it is gone. */
export interface Ear {
  listen(channel: string): Promise<void>
  unlisten(channel: string): Promise<void>
  /** Ends it. `lost` is not called any more. */
  close(): void
}

/** Opens an ear. */
export type OpenEar = (host: EarHost) => Promise<Ear>

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
export interface EarOptions {
  /** Whether they are ours, and set up as such. */
  readonly isOurs: boolean
  /**
   * Whether the address was given for listening: then a pooler on the way is one that keeps sessions
   * apart.
   */
  readonly isForListening: boolean
}

/** Hears nothing: what to listen through is a session that is not ours alone, see `session.ts`. */
const DEAF: Ear = { listen: async () => {}, unlisten: async () => {}, close() {} }

/** Ears that take a connection of a pool and keep it: LISTEN belongs to one session. */
export function earsFrom(pool: PgPool, { isOurs, isForListening }: EarOptions): OpenEar {
  return async (host) => {
    const client = (await pool.connect()) as ListeningClient
    let open = true
    const end = (): boolean => {
      const was = open
      open = false
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
        return DEAF
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
