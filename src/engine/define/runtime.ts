import type { Duration } from '../../base/time/duration.ts'
import type { NotifierHealth } from '../../store/hints.ts'
import type { UndeliveredMessages } from '../../store/runtimes.ts'
import type { Health } from '../../workers/worker.ts'
import type { Client } from './client.ts'
import type { Wait } from './instance.ts'

/** A client that also runs workflows and activities. */
export interface Runtime extends Client {
  /**
   * Resolves when there is nothing to do now: nothing runs here, and the store has no work due for this
   * runtime. Instances that sleep or wait for messages do not count. Useful in scripts, tests, and
   * functions that a scheduler calls to process due work.
   */
  idle(options?: Wait): Promise<void>
  /** Reports the state of its background loops and of its connection for notifications. */
  health(): RuntimeHealth
  /**
   * Shuts down: lets running activities finish within `drain`, releases every instance so that other
   * runtimes continue at once, and closes all connections. If the database does not answer, it takes up
   * to fifteen seconds longer and rejects; nothing acknowledged is lost, and other runtimes take over
   * when the lease expires.
   *
   * Waits that are pending, such as `result()`, may still be answered while it drains, also for instances
   * of other processes. The rest is rejected when the draining ends.
   *
   * @default drain: '10s'
   */
  close(options?: { drain?: Duration }): Promise<void>
}

/** The state of a runtime's parts. */
export interface RuntimeHealth {
  /** Its background loops. */
  readonly workers: readonly Health[]
  /** How notifications from other processes arrive. */
  readonly hints: NotifierHealth
  /** How many messages this runtime has removed because no instance will ever receive them. */
  readonly undelivered: UndeliveredMessages
}
