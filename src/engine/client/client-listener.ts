import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { HintStore, HintSubscription, Announcement } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { RemoteChanges } from '../core/remote-changes.ts'

const CLIENT = { runtime: 0, hasRoom: false }

/** What this needs of its client. */
export interface ClientListenerHost {
  readonly clock: Clock
  readonly log: Logger
  readonly hints: HintStore | undefined
}

/**
 * Exchanges hints with other processes for a client without a runtime. It listens from the first wait
 * on, so that a client that only sends needs no connection for hints.
 */
export class ClientListener {
  readonly #host: ClientListenerHost
  readonly #changes: RemoteChanges
  #listening: HintSubscription | undefined
  #closed = false

  constructor(host: ClientListenerHost) {
    this.#host = host
    this.#changes = new RemoteChanges({
      clock: host.clock,
      announce: (one) => this.announce(one),
      isListening: () => this.#listening?.isListening === true,
    })
  }

  get isLive(): boolean {
    return this.#changes.isLive
  }

  subscribe(iid: Iid, listener: () => void): () => void {
    // A wait that began before the client was closed must not open the connection again.
    if (!this.#closed) this.#listening ??= this.#listen()
    return this.#changes.subscribe(iid, listener)
  }

  changed(iid: Iid): void {
    this.#changes.changed(iid)
  }

  announce(announcement: Announcement): void {
    this.#host.hints?.announce(announcement, CLIENT)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changes.close()
    await this.#listening?.close()
    this.#listening = undefined
  }

  #listen(): HintSubscription | undefined {
    const { clock, log, hints } = this.#host
    return hints?.listen({
      clock,
      log,
      interest: () => ({ runtime: 0, workflows: [], tasks: null, ownedTasks: [] }),
      receive: (hint) => this.#changes.receive(hint),
      poll: async () => {
        // While no hints arrive, each wait polls.
        if (this.#changes.isLive) this.#changes.resumed()
        return false
      },
    })
  }
}
