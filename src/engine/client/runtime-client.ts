import { signalOf } from '../../base/sync/on-abort.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { resolveOptions } from '../../base/options.ts'
import type { ClientSetup, LocalRuntime } from '../core/local-runtime.ts'
import type { Runtime, RuntimeHealth } from '../define/runtime.ts'
import { EngineClient } from './engine-client.ts'
import type { Wait } from '../define/instance.ts'
import { WAIT_OPTIONS } from './poll.ts'
import { quietWhenClosed } from './waits.ts'

/** The runtime of a client that waits for it and closes it. */
export interface RunningRuntime extends LocalRuntime {
  /** Resolves when nothing is due. */
  idle(signal: AbortSignal | undefined): Promise<void>
  health(): RuntimeHealth
  /** Ends it; running activities may finish within `drainMs`. */
  close(drainMs: number): Promise<void>
}

/** The client of a process that also runs workflows and activities. */
export class RuntimeClient extends EngineClient implements Runtime {
  readonly #runtime: RunningRuntime
  #closed: Promise<void> | undefined

  constructor(setup: ClientSetup & { readonly runtime: RunningRuntime }) {
    super(setup)
    this.#runtime = setup.runtime
  }

  idle(options?: Wait): Promise<void> {
    return quietWhenClosed(async () => {
      const wait = resolveOptions('idle', options, WAIT_OPTIONS)
      await this.core.waits.within('idle', wait, (limit) => this.#runtime.idle(signalOf(limit)))
    })
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
      await this.core.endUsers()
      await this.#runtime.close(drainMs)
    } finally {
      await super.close()
    }
  }
}
