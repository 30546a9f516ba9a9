import type { Logger } from '../../base/log.ts'
import type { Client } from './client.ts'

/** The second argument of an activity, and the argument of a step. */
export interface ActivityContext {
  /** What is running, and for which instance. */
  readonly info: {
    readonly instanceId: string
    readonly workflow: string
    readonly activity: string
    readonly tag?: string
    readonly session?: string
  }
  /**
   * Aborts when the attempt times out, misses its heartbeat, is cancelled, or has to stop because this
   * runtime closes or lost its lease. Code that ignores the signal occupies its slot for up to ten
   * seconds more; its result is discarded.
   */
  readonly signal: AbortSignal
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /**
   * A key that all attempts of this call share, in whatever process they run. Pass it to services that
   * support idempotency keys.
   */
  readonly idempotencyKey: string
  /**
   * The details that an earlier attempt last passed to `heartbeat`; `undefined` when there was no
   * earlier attempt, or it passed none.
   */
  readonly lastHeartbeat: unknown
  /** Logs with the instance, workflow, activity and attempt on each line. */
  readonly log: Logger
  /** Starts instances and sends messages, like any client outside a workflow. */
  readonly client: Client
  /**
   * Reports that the attempt is alive, and optionally how far it has come: the next attempt reads the
   * details from `lastHeartbeat`. Holdfast stores the latest details about once a second.
   */
  readonly heartbeat: (details?: unknown) => void
}
