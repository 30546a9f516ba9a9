import { describe } from '../describe.ts'
import { onAbort } from './on-abort.ts'
import { checkSignal } from './signal.ts'
import { type Place, Waiters } from './waiters.ts'

// A counter of permits with a line in front of it.
//
//   - Permits go to waiters in the order they came; `free` is above 0 only without waiters.
//   - A permit is returned once, however often it is disposed of.
//   - After `close` no permit is granted: current and later waiters are rejected.

/** Limits how many run at once. */
export interface Semaphore {
  /** The number of free permits. */
  readonly free: number
  /**
   * Waits for a permit; disposing of it gives it back.
   *
   * Rejects with the signal's reason when that comes first, even when a permit is free, and with
   * an `Error` when the semaphore is closed.
   */
  acquire(signal?: AbortSignal): Promise<Disposable>
  /** Rejects all current and later waiters. Permits that were granted stay valid. */
  close(): void
}

/** A waiter that a `FairSemaphore` grants a permit, or rejects when it closes. */
export interface Applicant {
  grant(permit: Disposable): void
  refuse(by: FairSemaphore): void
}

/** The implementation of `Semaphore`, with what workers need to wait at two at once. */
export class FairSemaphore implements Semaphore {
  readonly #line = new Waiters<Applicant>()
  #free: number
  #closed = false

  constructor(permits: number) {
    this.#free = permits
  }

  get free(): number {
    return this.#free
  }

  get closed(): boolean {
    return this.#closed
  }

  /** A permit if one is free now. */
  tryAcquire(): Disposable | undefined {
    if (this.#closed || this.#free === 0) return undefined
    this.#free--
    return this.#permit()
  }

  /** Gets in line for the next permit. */
  join(applicant: Applicant): Place<Applicant> {
    return this.#line.add(applicant)
  }

  leave(place: Place<Applicant>): void {
    this.#line.remove(place)
  }

  acquire(signal?: AbortSignal): Promise<Disposable> {
    return new Promise((resolve, reject) => {
      checkSignal(signal, 'semaphore: acquire')
      if (signal?.aborted) return reject(signal.reason as Error)
      if (this.#closed) return reject(closedError())
      const free = this.tryAcquire()
      if (free !== undefined) return resolve(free)
      const place = this.join({
        grant(permit) {
          stopListening?.()
          resolve(permit)
        },
        refuse() {
          stopListening?.()
          reject(closedError())
        },
      })
      const stopListening =
        signal &&
        onAbort(signal, () => {
          this.leave(place)
          reject(signal.reason as Error)
        })
    })
  }

  close(): void {
    this.#closed = true
    for (let next = this.#line.shift(); next; next = this.#line.shift()) next.refuse(this)
  }

  #permit(): Disposable {
    let held = true
    return {
      [Symbol.dispose]: () => {
        if (!held) return
        held = false
        const next = this.#line.shift()
        if (next === undefined) this.#free++
        else next.grant(this.#permit())
      },
    }
  }
}

/** Makes a semaphore with that many permits. */
export function semaphore(permits: number): Semaphore {
  if (!Number.isSafeInteger(permits) || permits < 0) {
    throw new RangeError(
      `semaphore: permits must be a whole number, 0 or more, got ${describe(permits)}`,
    )
  }
  return new FairSemaphore(permits)
}

function closedError(): Error {
  return new Error('semaphore is closed')
}
