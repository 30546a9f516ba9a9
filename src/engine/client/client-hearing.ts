import type { Clock } from '../../base/time/clock.ts'
import type { Logger } from '../../base/log.ts'
import type { HintStore, Listening, News } from '../../store/hints.ts'
import type { Iid } from '../../store/instances.ts'
import { RemoteNews } from '../core/remote-changes.ts'

const CLIENT = { runtime: 0, hasRoom: false }

/** What this needs of its client. */
export interface ClientHearingHost {
  readonly clock: Clock
  readonly log: Logger
  readonly hints: HintStore | undefined
}

/**
 * Hears and tells for a client that runs nothing. It listens from its first wait on: who only sends
 * needs no connection for hints.
 */
export class ClientHearing {
  readonly #host: ClientHearingHost
  readonly #news: RemoteNews
  #listening: Listening | undefined
  #closed = false

  constructor(host: ClientHearingHost) {
    this.#host = host
    this.#news = new RemoteNews({
      clock: host.clock,
      tell: (news) => this.tell(news),
      hears: () => this.#listening?.hears === true,
    })
  }

  get areTold(): boolean {
    return this.#news.areTold
  }

  wait(iid: Iid, told: () => void): () => void {
    // A wait that was on its way when the client was closed must not open a connection again.
    if (!this.#closed) this.#listening ??= this.#listen()
    return this.#news.wait(iid, told)
  }

  changed(iid: Iid): void {
    this.#news.changed(iid)
  }

  tell(news: News): void {
    this.#host.hints?.tell(news, CLIENT)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#news.close()
    await this.#listening?.close()
    this.#listening = undefined
  }

  #listen(): Listening | undefined {
    const { clock, log, hints } = this.#host
    return hints?.listen({
      clock,
      log,
      interest: () => ({ runtime: 0, workflows: [], tasks: null, held: [] }),
      hear: (hint) => this.#news.hear(hint),
      look: async () => {
        // Who waits looks by itself while nothing is heard.
        if (this.#news.areTold) this.#news.heardAgain()
        return false
      },
    })
  }
}
