import type { Clock } from '../base/time/clock.ts'
import { type Place, Waiters } from '../base/sync/waiters.ts'
import type { Take } from '../store/queue-store.ts'
import type { StoreError } from '../store/store-error.ts'
import { Taker } from './taker.ts'
import type { ResolvedWait } from './wait-options.ts'

// The pending calls of `take`, first in, first out. One batch takes messages for all of them; what it
// brings goes to the first taker in line when it arrives.
//
//   - The next batch takes messages for each new taker, once.
//   - A taker that does not wait gets an empty answer only when the store has no more messages: as long
//     as it returns some and has more, the next batch takes for that taker again.
//   - Every batch takes for the takers that wait, since any batch may bring messages.
//   - A batch that fails, fails its new takers. Those that wait keep waiting, as long as a retry may
//     help.

/** What one batch takes, and for which takers. */
export interface Asked<D> {
  readonly max: number
  readonly takes: readonly Take[]
  /** Those that no earlier batch took for. */
  readonly newTakers: readonly Taker<D>[]
}

/** How many messages one batch takes, and one taker gets, at most: all are delivered at once. */
export const MAX_AT_ONCE = 1_000

const NO_TAKES = { max: 0, takes: [], newTakers: [] }

/** All pending calls of `take`. */
export class Takers<D> {
  readonly #clock: Clock
  readonly #line = new Waiters<Taker<D>>()
  #first: Place<Taker<D>> | undefined
  /** How many takers in line prefetch. */
  #prefetching = 0
  #unasked: Taker<D>[] = []
  /** How many messages all takers want together, and how many batches in flight take for them. */
  #wanted = 0
  #expected = 0

  readonly #leave = (taker: Taker<D>): void => {
    if (taker.place === undefined) return
    if (this.#first === taker.place) this.#first = taker.place.after
    if (taker.isPrefetching) this.#prefetching--
    this.#line.remove(taker.place)
    taker.place = undefined
    this.#wanted -= taker.max
  }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Gets in line for up to `wanted` messages; waits for the first when there is a time-out. */
  take(
    wanted: number,
    { timeoutMs, signal }: ResolvedWait,
    isPrefetching = false,
  ): Promise<readonly D[]> {
    // Also keeps the sum over all takers exact.
    const max = Math.min(wanted, MAX_AT_ONCE)
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const leave = this.#leave
      const taker = new Taker<D>({ max, timeoutMs, signal, isPrefetching, resolve, reject, leave })
      const place = this.#line.add(taker)
      taker.wait(this.#clock, place)
      this.#first ??= place
      this.#wanted += max
      if (isPrefetching) this.#prefetching++
      this.#unasked.push(taker)
    })
  }

  /** Whether there is a new taker, and batches in flight do not take enough for all. */
  get isAsking(): boolean {
    return this.#unasked.length > 0 && this.needsMore
  }

  /** Whether any call wants more than is on its way. */
  get needsMore(): boolean {
    return this.#wanted > this.#expected
  }

  /** How many are in line. */
  get size(): number {
    return this.#line.size
  }

  /** What the next batch asks the store for. */
  ask(): Asked<D> {
    if (!this.needsMore) return NO_TAKES
    const max = Math.min(this.#wanted - this.#expected, MAX_AT_ONCE)
    const newTakers = this.#unasked
    const takes = this.#prefetching === 0 ? [{ max, isPrefetched: false }] : this.#sharesOf(max)
    this.#unasked = []
    this.#expected += max
    return { max, takes, newTakers }
  }

  /**
   * Hands out what the store returned. Returns what no taker wants any more. With `hasMore` the store
   * has some left for takers that got nothing.
   */
  receive(asked: Asked<D>, deliveries: readonly D[], hasMore: boolean): readonly D[] {
    this.#expected -= asked.max
    let given = 0
    while (given < deliveries.length) {
      const taker = this.#first?.waiter
      if (taker === undefined) break
      taker.give(deliveries.slice(given, given + taker.max))
      given += taker.max
    }
    for (const taker of asked.newTakers) {
      if (taker.place === undefined || taker.isWaiting) continue
      if (hasMore) this.#unasked.push(taker)
      else taker.give([])
    }
    return deliveries.slice(given)
  }

  /** The batch failed. */
  fail(asked: Asked<D>, error: StoreError): void {
    this.#expected -= asked.max
    if (!error.retryable) return this.failAll(error)
    for (const taker of asked.newTakers) if (taker.place !== undefined) taker.fail(error)
  }

  failAll(error: unknown): void {
    this.#unasked = []
    for (let left = this.#line.size; left > 0; left--) this.#first?.waiter.fail(error)
  }

  /** Which of the next messages are prefetched. Batches in flight serve the first takers in line. */
  #sharesOf(max: number): readonly Take[] {
    const takes: Take[] = []
    let [passed, left] = [this.#expected, max]
    const add = (count: number, isPrefetched: boolean): void => {
      const share = Math.min(Math.max(count - passed, 0), left)
      passed = Math.max(passed - count, 0)
      left -= share
      if (share > 0) takes.push({ max: share, isPrefetched })
    }
    for (let place = this.#first; place !== undefined && left > 0; place = place.after) {
      const { isPrefetching, max: wanted } = place.waiter
      add(isPrefetching ? 1 : wanted, false)
      if (isPrefetching) add(wanted - 1, true)
    }
    return takes
  }
}
