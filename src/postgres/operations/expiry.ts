import { type Clock, systemClock } from '../../base/time/clock.ts'
import type { Call } from '../wire/call.ts'
import { int } from '../connect/rows.ts'

const AT_ONCE = 1_000
// An end is recorded with the time at which its commit began, and visible once it is committed.
const OVERLAP_MS = 60_000
const START_OVER_MS = 600_000

/**
 * Removes expired instances, some at a time. Each call continues where the last one stopped. Every ten
 * minutes one starts from the beginning, for ends that were not visible yet.
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

  /** Starts from the beginning: a retention may have become shorter. */
  startOver(): void {
    this.#since = 0
    this.#begunMs = this.#clock.now()
  }

  /** Removes some; resolves to whether there may be more. */
  async remove(): Promise<boolean> {
    if (this.#clock.now() - this.#begunMs > START_OVER_MS) this.startOver()
    const [row] = await this.#call('remove_expired', [this.#since, AT_ONCE])
    const lookedAt = int(row!, 'looked_at')
    const isMore = lookedAt === AT_ONCE
    if (lookedAt > 0) this.#since = int(row!, 'reached') - (isMore ? 0 : OVERLAP_MS)
    return isMore
  }
}
