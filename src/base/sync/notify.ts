import { onAbort } from './on-abort.ts'
import { checkSignal } from './signal.ts'
import { type Place, Waiters } from './waiters.ts'

// Wake-ups that are never lost.
//
//   - `notifyOne` wakes the longest waiter. Without waiters it leaves one permit; more calls still
//     leave one.
//   - `wait` takes the permit at once when there is one.
//   - `notifyAll` wakes all current waiters and leaves no permit.
//   - A waiter is woken once. One that waits at several notifies leaves the others when one wakes it,
//     so no wake-up goes to a waiter that is already awake.

/** Wakes one waiter, or stores one permit; several permits collapse into one. */
export interface Notify {
  /** Wakes the longest waiter; with none, the next `wait` returns at once. */
  notifyOne(): void
  /** Wakes all current waiters; leaves no permit for later ones. */
  notifyAll(): void
  /** Waits to be woken. Rejects with the signal's reason when that comes first. */
  wait(signal?: AbortSignal): Promise<void>
}

/** A waiter that a `PermitNotify` can wake. */
export interface Sleeper {
  wake(by: PermitNotify): void
}

/** The implementation of `Notify`, with what workers need to wait at several at once. */
export class PermitNotify implements Notify {
  readonly #waiters = new Waiters<Sleeper>()
  #permit = false

  notifyOne(): void {
    const sleeper = this.#waiters.shift()
    if (sleeper === undefined) this.#permit = true
    else sleeper.wake(this)
  }

  notifyAll(): void {
    // Counted first: a sleeper that gets in line again while it is woken waits for the next time.
    for (let left = this.#waiters.size; left > 0; left--) this.#waiters.shift()?.wake(this)
  }

  /** Takes the stored permit, if there is one. */
  takePermit(): boolean {
    const had = this.#permit
    this.#permit = false
    return had
  }

  /** Gets in line. The sleeper leaves the line by itself when something else wakes it. */
  join(sleeper: Sleeper): Place<Sleeper> {
    return this.#waiters.add(sleeper)
  }

  leave(place: Place<Sleeper>): void {
    this.#waiters.remove(place)
  }

  wait(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      checkSignal(signal, 'notify: wait')
      if (signal?.aborted) return reject(signal.reason as Error)
      if (this.takePermit()) return resolve()
      const place = this.join({
        wake: () => {
          stopListening?.()
          resolve()
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
}

/** Makes a `Notify` with no permit stored. */
export function notify(): Notify {
  return new PermitNotify()
}
