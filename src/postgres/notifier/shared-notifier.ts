import type { HintReceiver, Listening } from '../../store/hints.ts'
import { answered, CLOSE_TIMEOUT_MS, makePool } from '../connect/connections.ts'
import type { PgPool } from '../connect/driver.ts'
import type { ListenSource } from '../connect/options.ts'
import { listenConnectionsFrom, type OpenListenConnection } from './listen-connection.ts'
import { Notifier, type Server } from './notifier.ts'

/** A notifier, and how it is ended with its connections. */
interface Running {
  readonly notifier: Notifier
  readonly end: () => Promise<void>
}

/**
 * The notifier of one `postgres()`: one connection for hints, however many runtimes and clients use
 * it, from the first that listens to the last.
 */
export class SharedNotifier {
  readonly #source: ListenSource
  #running: Running | undefined
  #users = 0

  constructor(source: ListenSource) {
    this.#source = source
  }

  /** Whether hints are heard at present. */
  get hears(): boolean {
    return this.#running?.notifier.hears === true
  }

  /** Hints could not be sent: whether others arrive is found out now. */
  doubt(): void {
    this.#running?.notifier.doubt()
  }

  /** Adds somebody who listens. */
  listen(listener: HintReceiver, server: Server): Listening & { readonly id: string } {
    const { notifier } = (this.#running ??= this.#start(listener))
    const listening = notifier.listen(listener, server)
    this.#users++
    let closed = false
    return {
      id: listening.id,
      get hears() {
        return listening.hears
      },
      health: () => listening.health(),
      refresh: () => listening.refresh(),
      close: async () => {
        if (closed) return
        closed = true
        await listening.close()
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

/** How connections for hints are opened, and what is to be ended after the last. */
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
    // One that is being opened on a network that swallows everything is not waited for.
    end: async () => {
      const pool = await made
      if (pool !== undefined) await answered('close', pool.end(), CLOSE_TIMEOUT_MS).catch(() => {})
    },
  }
}
