import { TimeoutError } from '../../base/errors.ts'
import type { InstanceRow } from '../../store/instances.ts'
import { rowKeys } from '../core/log-keys.ts'
import type { ClientCore } from './client-core.ts'
import { info } from './info.ts'
import type { ResolvedWait } from './poll.ts'

// At this fraction of the timeout, the explainer reads what the instance waits for, and again at the end. If
// the store does not answer so soon then, what it said before is used: the error is not delayed further.
const EARLY_LOOK = 0.5
const LAST_LOOK_MS = 250

/** Explains in the error of a timeout why the instance has not ended. */
export class WaitExplainer {
  readonly id: string
  readonly #core: ClientCore
  #reason: string | undefined
  #isLogged = false

  constructor(core: ClientCore, id: string) {
    this.#core = core
    this.id = id
  }

  /** Reads what the instance waits for when half of the time is over. Call the result to stop. */
  watchDuring({ timeout }: ResolvedWait): () => void {
    if (timeout === undefined) return () => {}
    const { clock } = this.#core.setup
    const timer = clock.after(timeout * EARLY_LOOK, () => void this.#look())
    return () => timer.cancel()
  }

  #lastLook(): Promise<void> {
    const { clock } = this.#core.setup
    return new Promise((resolve) => {
      const timer = clock.after(LAST_LOOK_MS, resolve)
      void this.#look().finally(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  async #look(): Promise<void> {
    try {
      const found = await info(this.#core, this.id)
      const { status, waitingFor = [], error } = found ?? {}
      if (status === 'suspended') this.#reason = suspended(error?.message ?? '')
      else if (waitingFor.length > 0) this.#reason = waiting(waitingFor)
      else this.#reason = undefined
    } catch {
      // The error then has no explanation.
    }
  }

  /** Learns from a row that was read. Logs once that the instance is suspended. */
  saw(row: InstanceRow): void {
    const { status, report } = row
    if (status !== 'suspended') return
    const { log, values, runtime } = this.#core.setup
    const reason = report === null ? '' : values.error(report).message
    this.#reason = suspended(reason)
    if (this.#isLogged) return
    this.#isLogged = true
    // In a process with a runtime, the log line of the suspension itself has the reason.
    log.warn(
      { ...rowKeys(row), ...(runtime === undefined && { reason }) },
      'result: the instance is suspended; waiting for it to be resumed',
    )
  }

  /** Adds the explanation to the error of a timeout, as of now if the store answers soon. */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof TimeoutError)) return error
    await this.#lastLook()
    if (this.#reason === undefined) return error
    return new TimeoutError(`${error.message}; ${this.#reason}`, error.afterMs)
  }
}

function suspended(reason: string): string {
  // The reason of suspend() already begins with that word.
  return reason.startsWith('suspended') ? `it is ${reason}` : `it is suspended: ${reason}`
}

/** What it waits for, as a sentence. */
function waiting(things: readonly string[]): string {
  const [first = ''] = things
  if (first.startsWith('its start at ')) return `it is scheduled to ${first.slice('its '.length)}`
  const words = things.map((thing) => thing.replace(/^(?=message |timer )/, 'a '))
  return `it is waiting for ${words.join('; ')}`
}
