import type { HintReceiver, HintSubscription } from '../../store/hints.ts'
import { answered, CLOSE_TIMEOUT_MS, makePool } from '../connect/connections.ts'
import type { PgPool } from '../connect/driver.ts'
import type { ListenSource } from '../connect/options.ts'
import { listenConnectionsFrom, type OpenListenConnection } from './listen-connection.ts'
import { Notifier, type Server } from './notifier.ts'

/** A notifier, and how to close it together with its connections. */
interface Running {
  readonly notifier: Notifier
  readonly end: () => Promise<void>
}

/** The notifiers of pools, by schema. */
const ofPools = new WeakMap<PgPool, Map<string, SharedNotifier>>()

/**
 * The notifier for a schema: one for each `postgres()` with a `url`, and one for all that were given the
 * same pool, which would otherwise keep a connection of it each.
 */
export function notifierFor(source: ListenSource, schema: string): SharedNotifier {
  if (!('pool' in source)) return new SharedNotifier(source)
  const bySchema = ofPools.get(source.pool) ?? new Map<string, SharedNotifier>()
  ofPools.set(source.pool, bySchema)
  const notifier = bySchema.get(schema) ?? new SharedNotifier(source)
  bySchema.set(schema, notifier)
  return notifier
}

/**
 * A notifier that several users share: one listen connection for all their runtimes and clients. It is
 * opened for the first listener, and closed after the last.
 */
export class SharedNotifier {
  readonly #source: ListenSource
  #running: Running | undefined
  #users = 0

  constructor(source: ListenSource) {
    this.#source = source
  }

  /** Whether notifications arrive at present. */
  get isListening(): boolean {
    return this.#running?.notifier.isListening === true
  }

  /** A notification could not be sent: tests now whether others arrive. */
  testSoon(): void {
    this.#running?.notifier.testSoon()
  }

  /** Adds a listener. */
  listen(listener: HintReceiver, server: Server): HintSubscription & { readonly id: string } {
    const { notifier } = (this.#running ??= this.#start(listener))
    const subscription = notifier.listen(listener, server)
    this.#users++
    let closed = false
    return {
      id: subscription.id,
      get isListening() {
        return !closed && subscription.isListening
      },
      health: () => subscription.health(),
      refresh: () => subscription.refresh(),
      close: async () => {
        if (closed) return
        closed = true
        await subscription.close()
        if (--this.#users > 0) return
        const last = this.#running
        this.#running = undefined
        await last?.end()
      },
    }
  }

  #start({ clock, log }: HintReceiver): Running {
    const { openConnection, end } = listenConnections(this.#source)
    const notifier = new Notifier({ clock, log, openConnection })
    return {
      notifier,
      end: async () => {
        await notifier.close()
        await end()
      },
    }
  }
}

/** How to open listen connections, and how to close their pool. */
function listenConnections(source: ListenSource): {
  openConnection: OpenListenConnection
  end: () => Promise<void>
} {
  const { isForListening = false } = source
  if ('pool' in source) {
    return {
      openConnection: listenConnectionsFrom(source.pool, { isOurs: false, isForListening }),
      end: async () => {},
    }
  }
  let made: Promise<PgPool> | undefined
  return {
    openConnection: async (host) => {
      made ??= makePool(source.url, 1, { applicationName: 'holdfast hints' })
      return listenConnectionsFrom(await made, { isOurs: true, isForListening })(host)
    },
    // On a network that drops packets, a connection that is still being opened never ends.
    end: async () => {
      const pool = await made
      if (pool !== undefined) await answered('close', pool.end(), CLOSE_TIMEOUT_MS).catch(() => {})
    },
  }
}
