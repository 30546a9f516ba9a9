import { type Clock, systemClock } from '../../base/time/clock.ts'
import type { Call } from '../wire/call.ts'
import { int } from '../connect/rows.ts'

const AT_ONCE = 1_000
// An end is noted with the time at which its commit began, and can be seen when that is over.
const OVERLAP_MS = 60_000
const START_OVER_MS = 600_000

/**
 * Removes what has expired, some at a time. Each call goes on where the last one came to, and now and
 * then one starts from the beginning: it finds what could not be seen then.
 */
export class Expiry {
  readonly #call: Call
  readonly #clock: Clock
  #since = 0
  #begunMs: number

  constructor(call: Call, clock: Clock = systemClock()) {
    this.#call = call
    this.#clock = clock
    this.#begunMs = clock.now()
  }

  /** Starts from the beginning: instances may have to go sooner than it seemed. */
  startOver(): void {
    this.#since = 0
    this.#begunMs = this.#clock.now()
  }

  /** Removes some; answers whether there may be more. */
  async remove(): Promise<boolean> {
    if (this.#clock.now() - this.#begunMs > START_OVER_MS) this.startOver()
    const [row] = await this.#call('remove_expired', [this.#since, AT_ONCE])
    const lookedAt = int(row!, 'looked_at')
    const isMore = lookedAt === AT_ONCE
    if (lookedAt > 0) this.#since = int(row!, 'reached') - (isMore ? 0 : OVERLAP_MS)
    return isMore
  }
}
