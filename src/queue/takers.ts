import type { Clock, Timer } from '../base/clock.ts'
import { type Place, Waiters } from '../base/waiters.ts'
import type { StoreError } from '../store/store-error.ts'
import type { ResolvedWait } from './wait-options.ts'

// Who wants messages, in the order they came. The store is asked for all of them at once; what it
// gives goes to whoever is first in line when it arrives.
//
//   T1. Everybody new is asked for once, at the next chance.
//   T2. Who does not wait is answered with nothing only when the store has nothing more: as long as
//       it gives and has some left, he is asked for again.
//   T3. Who waits is asked for again with every batch, since any of them may bring something.
//   T4. A batch that fails, fails who is new in it. Who waits goes on doing so, as long as trying
//       again may help.

interface Taker<D> {
  readonly most: number
  readonly isPatient: boolean
  place: Place<Taker<D>> | undefined
  /** Which ends the wait: with deliveries, without any, or with an error. */
  give(deliveries: readonly D[]): void
  fail(error: unknown): void
}

/** What the store is asked for, and on whose behalf. */
export interface Asked<D> {
  readonly most: number
  /** Those who were not asked for before. */
  readonly fresh: readonly Taker<D>[]
}

/** The most that is taken with one batch, and for one taker: it is all answered at once. */
export const MOST_AT_ONCE = 1_000

const NOBODY = { most: 0, fresh: [] }

/** Everybody who wants messages. */
export class Takers<D> {
  readonly #clock: Clock
  readonly #line = new Waiters<Taker<D>>()
  #unasked: Taker<D>[] = []
  /** How many messages all in line want together, and how many are asked for and not there yet. */
  #wanted = 0
  #expected = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Gets in line for up to `most` messages; waits for the first when there is a time-out. */
  take(wanted: number, { timeoutMs, signal }: ResolvedWait): Promise<readonly D[]> {
    // Also keeps the sum of all who wait exact.
    const most = Math.min(wanted, MOST_AT_ONCE)
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      let timer: Timer | undefined
      const stop = (): void => taker.fail(signal!.reason)
      const end = (): void => {
        this.#leave(taker)
        timer?.cancel()
        signal?.removeEventListener('abort', stop)
      }
      const taker: Taker<D> = {
        most,
        isPatient: timeoutMs !== undefined && timeoutMs > 0,
        place: undefined,
        give: (deliveries) => {
          end()
          resolve(deliveries)
        },
        fail: (error) => {
          end()
          reject(error)
        },
      }
      taker.place = this.#line.add(taker)
      this.#wanted += most
      this.#unasked.push(taker)
      if (taker.isPatient && timeoutMs !== Infinity) {
        timer = this.#clock.after(timeoutMs!, () => taker.give([]))
      }
      signal?.addEventListener('abort', stop, { once: true })
    })
  }

  /** Whether somebody is new in line (T1), and what is on its way is not enough for all. */
  get isAsking(): boolean {
    return this.#unasked.length > 0 && this.isHungry
  }

  /** Whether anybody wants more than is on its way. */
  get isHungry(): boolean {
    return this.#wanted > this.#expected
  }

  /** Whether anybody is in line. */
  get isWaitedFor(): boolean {
    return this.#line.size > 0
  }

  /** What the next batch is to ask the store for. */
  ask(): Asked<D> {
    if (!this.isHungry) return NOBODY
    const most = Math.min(this.#wanted - this.#expected, MOST_AT_ONCE)
    const fresh = this.#unasked
    this.#unasked = []
    this.#expected += most
    return { most, fresh }
  }

  /**
   * Hands out what the store gave. Answers what nobody wants any more. With `hasMore` the store has
   * some left for who got nothing (T2).
   */
  receive(asked: Asked<D>, deliveries: readonly D[], hasMore: boolean): readonly D[] {
    this.#expected -= asked.most
    let given = 0
    while (given < deliveries.length) {
      const taker = this.#line.shift()
      if (taker === undefined) break
      taker.give(deliveries.slice(given, given + taker.most))
      given += taker.most
    }
    for (const taker of asked.fresh) {
      if (taker.place === undefined || taker.isPatient) continue
      if (hasMore) this.#unasked.push(taker)
      else taker.give([])
    }
    return deliveries.slice(given)
  }

  /** The batch failed (T4). */
  fail(asked: Asked<D>, error: StoreError): void {
    this.#expected -= asked.most
    if (!error.retryable) return this.failAll(error)
    for (const taker of asked.fresh) if (taker.place !== undefined) taker.fail(error)
  }

  failAll(error: unknown): void {
    this.#unasked = []
    for (let left = this.#line.size; left > 0; left--) this.#line.shift()?.fail(error)
  }

  #leave(taker: Taker<D>): void {
    if (taker.place === undefined) return
    this.#line.remove(taker.place)
    taker.place = undefined
    this.#wanted -= taker.most
  }
}
