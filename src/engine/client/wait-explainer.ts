import { TimeoutError } from '../../base/errors.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { ClientCore } from './client-core.ts'
import { info } from './info.ts'
import type { ResolvedWait } from './poll.ts'

// When these parts of the time are over, somebody looks what it is that is waited for. Not at its
// end: an answer of the store that stays out must not delay the error.
const LOOKS = [0.25, 0.75]

/** Why an instance that somebody waits for does not move, for the error of who waited too long. */
export class WaitExplainer {
  readonly id: string
  readonly #core: ClientCore
  #words: string | undefined
  #isTold = false

  constructor(core: ClientCore, id: string) {
    this.#core = core
    this.id = id
  }

  /** Looks what the instance waits for while the time passes. Call the result to stop. */
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
      if (status === 'suspended') this.#words = suspended(error?.message ?? '')
      else if (waitingFor.length > 0) this.#words = waiting(waitingFor)
      else this.#words = undefined
    } catch {
      // What cannot be found out is left out.
    }
  }

  /** Somebody looked at the instance: who waits for one that is suspended is told so, once. */
  saw({ status, report }: InstanceRow): void {
    if (status !== 'suspended') return
    const { log, values, runtime } = this.#core.setup
    const reason = report === null ? '' : values.error(report).message
    this.#words = suspended(reason)
    if (this.#isTold) return
    this.#isTold = true
    // The line of the suspension itself has the reason, in the process whose runtime it may concern.
    log.warn(
      { instanceId: this.id, ...(runtime === undefined && { reason }) },
      'result: the instance is suspended; waiting for it to be resumed',
    )
  }

  /** The error of who waited too long says what for. */
  explain(error: unknown): unknown {
    if (this.#words === undefined || !(error instanceof TimeoutError)) return error
    return new TimeoutError(`${error.message}; ${this.#words}`, error.afterMs)
  }
}

function suspended(reason: string): string {
  // By hand, the reason begins with that.
  return reason.startsWith('suspended') ? `it is ${reason}` : `it is suspended: ${reason}`
}

/** What it waits for, as a sentence. */
function waiting(things: readonly string[]): string {
  const [first = ''] = things
  if (first.startsWith('its start at ')) return `it is scheduled to ${first.slice('its '.length)}`
  const words = things.map((thing) => thing.replace(/^(?=message |timer )/, 'a '))
  return `it is waiting for ${words.join('; ')}`
}
