import type { Logger } from '../../base/log.ts'
import type { Client } from './client.ts'

/** What the code of an activity or a step is given. */
export interface ActivityContext {
  readonly info: {
    readonly instanceId: string
    readonly workflow: string
    readonly activity: string
    readonly tag?: string
    readonly session?: string
  }
  /**
   * Aborts when the attempt is out of time or silent for too long, when its result is not wanted any
   * more, or when this runtime has to give it up. Code that does not stop then keeps its place for ten
   * seconds more; whatever it returns is dropped.
   */
  readonly signal: AbortSignal
  /** 1 for the first attempt. */
  readonly attempt: number
  /** The same for every attempt of this call, in whatever process: hand it to services that know such keys. */
  readonly idempotencyKey: string
  /** What an earlier attempt last told `heartbeat`; `undefined` when there was none, or it told nothing. */
  readonly lastHeartbeat: unknown
  readonly log: Logger
  /** Starts instances and sends messages, as a client outside of workflows does. */
  readonly client: Client
  /**
   * Says that the attempt goes on, and how far it is: the next attempt finds the details in
   * `lastHeartbeat`. They are written about once a second, the latest ones only.
   */
  readonly heartbeat: (details?: unknown) => void
}
