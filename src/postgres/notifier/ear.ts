import { answered, CONNECT_TIMEOUT_MS } from '../connections.ts'
import type { PgClient, PgPool, Statement } from '../driver.ts'
import { quoted } from '../schema-name.ts'

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

/**
 * Ears that take a connection of a pool and keep it: LISTEN belongs to one session. `settings` are
 * sent first, on connections that are ours.
 */
export function earsFrom(pool: PgPool, settings?: Statement): OpenEar {
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
      if (settings !== undefined) {
        await answered('listen', client.query(settings), CONNECT_TIMEOUT_MS)
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
