import type { Duration } from '../../base/duration.ts'
import { duration, resolveOptions } from '../../base/options.ts'
import type { EngineRuntime } from '../runtime/runtime.ts'
import { type Client, EngineClient } from './client.ts'
import type { ClientSetup } from './client-setup.ts'

/** A client that also runs things. */
export interface Runtime extends Client {
  /**
   * Stops in order: running activities may finish within `drain`, everything is given back so that
   * another runtime goes on at once, and all connections end.
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
