import { TimeoutError } from '../../base/errors.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { ClientCore } from './client-core.ts'
import { info } from './info.ts'
import type { ResolvedWait } from './poll.ts'

// At these fractions of the timeout, the explainer reads what the instance waits for. Not at the end,
// where a slow answer of the store would delay the error.
const LOOKS = [0.25, 0.75]

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

  /** Reads what the instance waits for while the time passes. Call the result to stop. */
  watchDuring({ timeout }: ResolvedWait): () => void {
    if (timeout === undefined) return () => {}
    const { clock } = this.#core.setup
    const timers = LOOKS.map((part) => clock.after(timeout * part, () => void this.#look()))
    return () => timers.forEach((timer) => timer.cancel())
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
  saw({ status, report }: InstanceRow): void {
    if (status !== 'suspended') return
    const { log, values, runtime } = this.#core.setup
    const reason = report === null ? '' : values.error(report).message
    this.#reason = suspended(reason)
    if (this.#isLogged) return
    this.#isLogged = true
    // In a process with a runtime, the log line of the suspension itself has the reason.
    log.warn(
      { instanceId: this.id, ...(runtime === undefined && { reason }) },
      'result: the instance is suspended; waiting for it to be resumed',
    )
  }

  /** Adds the explanation to the error of a timeout. */
  explain(error: unknown): unknown {
    if (this.#reason === undefined || !(error instanceof TimeoutError)) return error
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
