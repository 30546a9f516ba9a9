import type { Duration } from '../../base/time/duration.ts'
import type { NotifierHealth } from '../../store/hints.ts'
import type { UndeliveredMessages } from '../../store/runtimes.ts'
import type { Health } from '../../workers/worker.ts'
import type { Client } from './client.ts'
import type { Wait } from './instance.ts'

/** A client that also runs things. */
export interface Runtime extends Client {
  /**
   * Resolves when nothing is due: nothing runs here, and the store has nothing for this runtime now.
   * What sleeps, or waits for messages, does not count. For scripts, tests, and functions that are
   * called once in a while and do what there is to do.
   */
  idle(options?: Wait): Promise<void>
  /** How its loops are doing, and whether it hears of what other processes do. */
  health(): RuntimeHealth
  /**
   * Stops in order: running activities may finish within `drain`, everything is given back so that
   * another runtime goes on at once, and all connections end. With a database that does not answer
   * it takes up to fifteen seconds more than `drain`, and rejects: nothing that was acknowledged is
   * lost by that, and others go on when the lease has ended.
   *
   * @default drain: '10s'
   */
  close(options?: { drain?: Duration }): Promise<void>
}

/** How the parts of a runtime are doing. */
export interface RuntimeHealth {
  /** Its loops. */
  readonly workers: readonly Health[]
  /** How it hears of what other processes do. */
  readonly hints: NotifierHealth
  /** Messages that nobody will receive, and that this runtime has removed so far. */
  readonly undelivered: UndeliveredMessages
}
