import type { Duration } from '../../base/time/duration.ts'
import { duration, resolveOptions } from '../../base/options.ts'
import type { EngineRuntime, RuntimeHealth } from '../runtime/runtime.ts'
import { type Client, EngineClient } from './client.ts'
import type { ClientSetup } from '../core/local-runtime.ts'
import type { Wait } from './instance.ts'
import { WAIT_OPTIONS } from './wait.ts'
import { forCaller } from './waits.ts'

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

/** The client of the process that runs things. */
export class RuntimeClient extends EngineClient implements Runtime {
  readonly #runtime: EngineRuntime
  #closed: Promise<void> | undefined

  constructor(setup: ClientSetup & { readonly runtime: EngineRuntime }) {
    super(setup)
    this.#runtime = setup.runtime
  }

  idle(options?: Wait): Promise<void> {
    return forCaller(this.#idle(options))
  }

  async #idle(options: Wait | undefined): Promise<void> {
    const wait = resolveOptions('idle', options, WAIT_OPTIONS)
    await this.core.waits.within('idle', wait, (signal) => this.#runtime.idle(signal))
  }

  health(): RuntimeHealth {
    return this.#runtime.health()
  }

  override close(options?: { drain?: Duration }): Promise<void> {
    const { drain } = resolveOptions('close', options, { drain: duration(10_000) })
    return (this.#closed ??= this.#end(drain))
  }

  async #end(drainMs: number): Promise<void> {
    try {
      await this.#runtime.close(drainMs)
    } finally {
      await super.close()
    }
  }
}
