import type { Next } from '../../store/commits.ts'
import type { Carrier } from './carrier.ts'
import type { Copy } from './copy.ts'
import { expectsMail, nextAtRest, REST_MS } from './next-at-rest.ts'
import type { Scribe } from './scribe.ts'
import type { StoreClock } from './store-clock.ts'

// The alarm of an instance that belongs to no command.
const REST = -1

/** What this needs to know of its runtime. */
export interface RestingHost {
  readonly time: StoreClock
  /** Whether there is little room for further instances. */
  crowded(): boolean
  /** Whether nothing new may begin. */
  closing(): boolean
}

/** Sees to it that instances which have nothing to do here for a while are given back. */
export class Resting {
  readonly #host: RestingHost
  readonly #carrier: Carrier
  readonly #scribe: Scribe

  constructor(host: RestingHost, carrier: Carrier, scribe: Scribe) {
    this.#host = host
    this.#carrier = carrier
    this.#scribe = scribe
  }

  /** What becomes of a copy that has had its turn; `rested` when it has been waiting for a while. */
  next(copy: Copy, rested = false): Next {
    const now = this.#host.time.now()
    const impatient = rested || this.#host.crowded()
    return nextAtRest(copy, { now, closing: this.#host.closing(), impatient })
  }

  /**
   * Gives back an instance that has nothing to do here for a while; while closing, any at rest. One
   * that waits for mail is looked at again when it has done so for long enough.
   */
  releaseIfAtRest(copy: Copy, rested = false): void {
    if (copy.state !== 'resting') return
    const next = this.next(copy, rested)
    if (next.kind !== 'release') {
      if (expectsMail(copy) && !copy.alarms.has(REST)) {
        const at = this.#host.time.now() + REST_MS
        this.#carrier.setAlarm(copy, REST, at, () => this.releaseIfAtRest(copy, true))
      }
      return
    }
    this.#carrier.silence(copy)
    this.#scribe.next(copy, next)
  }
}
