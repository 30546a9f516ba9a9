import { StoreError } from '../../store/store-error.ts'
import type { PgClient, StatementResult } from './driver.ts'

/**
 * Detects failovers of the server that a store's connections lead to. A standby that was promoted has a
 * higher timeline, and may lack the latest writes of the old primary. The old primary may still accept
 * writes that will be lost, so connections to it are given up.
 */
export class ServerWatch {
  /** Called before anything is sent to the promoted server. */
  onPromotion: (() => void) | undefined
  #promotions = 0
  #timeline: string | undefined
  readonly #timelines = new WeakMap<PgClient, string>()

  /** How many promotions were noticed. */
  get promotions(): number {
    return this.#promotions
  }

  /** Whether the timeline of a connection could be read. A standby does not have its own yet. */
  knows(client: PgClient): boolean {
    return this.#timelines.has(client)
  }

  /** Whether a connection leads to a server that another one has replaced. */
  hasLeft(client: PgClient): boolean {
    const timeline = this.#timelines.get(client)
    return timeline !== undefined && timeline !== this.#timeline
  }

  /** Records the timeline that a connection reported. */
  saw(client: PgClient, { rows }: StatementResult): void {
    const { timeline } = rows[0] as { timeline: string | null }
    if (timeline === null) return
    this.#timelines.set(client, timeline)
    this.#leadsTo(timeline)
  }

  /**
   * Records the identity that the server reported, see `server_identity.sql`. Returns whether it was
   * promoted: behind a pooler, connections outlive the server that they led to.
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

/** Thrown instead of sending a statement to a server that may lack the writes before it. */
export function wasPromoted(operation: string): StoreError {
  const words = 'the database failed over to another server before the statement was sent'
  return new StoreError('connection_lost', operation, words)
}
