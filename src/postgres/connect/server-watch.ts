import { StoreError } from '../../store/store-error.ts'
import type { PgClient, StatementResult } from './driver.ts'

/**
 * Which server the connections of a store lead to. One that was promoted counts its timeline on, and
 * may lack the latest writes of the one before. That one may still be there, and take what is lost:
 * so connections to it are left.
 */
export class ServerWatch {
  /** Told before anything is sent to a server that was promoted since. */
  onPromotion: (() => void) | undefined
  #promotions = 0
  #timeline: string | undefined
  readonly #timelines = new WeakMap<PgClient, string>()

  /** How many promotions were noticed. */
  get promotions(): number {
    return this.#promotions
  }

  /** Whether it is known where a connection leads. A standby does not know what it will be. */
  knows(client: PgClient): boolean {
    return this.#timelines.has(client)
  }

  /** Whether a connection leads to a server in whose place there is another one by now. */
  hasLeft(client: PgClient): boolean {
    const timeline = this.#timelines.get(client)
    return timeline !== undefined && timeline !== this.#timeline
  }

  /** A connection has told where it leads. */
  saw(client: PgClient, { rows }: StatementResult): void {
    const { timeline } = rows[0] as { timeline: string | null }
    if (timeline === null) return
    this.#timelines.set(client, timeline)
    this.#leadsTo(timeline)
  }

  /**
   * The server has said who it is, see `server_identity.sql`. Answers whether it was promoted: behind
   * a pooler, connections outlive the server that they led to.
   */
  sawServer(identity: string): boolean {
    const [, timeline] = /-([0-9A-F]+)$/.exec(identity) ?? []
    return timeline !== undefined && this.#leadsTo(timeline.padStart(TIMELINE_DIGITS, '0'))
  }

  #leadsTo(timeline: string): boolean {
    const before = this.#timeline
    this.#timeline = timeline
    if (before === undefined || before === timeline) return false
    this.#promotions++
    this.onPromotion?.()
    return true
  }
}

const TIMELINE_DIGITS = 8

/** What is thrown instead of sending something to a server that does not know what it follows from. */
export function wasPromoted(operation: string): StoreError {
  const words = 'the server is another one than when this was asked for'
  return new StoreError('connection_lost', operation, words)
}
