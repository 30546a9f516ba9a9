// A list of waiters, first in, first out, with removal in constant time. `notify` and `semaphore` use
// it. One waiter may be in several lists at once (a worker with three notifiers): the first
// list to wake it wins, and the others find it gone.

/** One place in one list. */
export interface Place<W> {
  readonly waiter: W
  before: Place<W> | undefined
  after: Place<W> | undefined
  held: boolean
}

/** A first-in, first-out list whose entries can leave from the middle. */
export class Waiters<W> {
  #first: Place<W> | undefined
  #last: Place<W> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  add(waiter: W): Place<W> {
    const place: Place<W> = { waiter, before: this.#last, after: undefined, held: true }
    if (this.#last === undefined) this.#first = place
    else this.#last.after = place
    this.#last = place
    this.#size++
    return place
  }

  /** Takes a place out; doing it twice is harmless. */
  remove(place: Place<W>): void {
    if (!place.held) return
    place.held = false
    if (place.before === undefined) this.#first = place.after
    else place.before.after = place.after
    if (place.after === undefined) this.#last = place.before
    else place.after.before = place.before
    // A reference to an old place must not keep all later ones alive.
    place.before = place.after = undefined
    this.#size--
  }

  /** Removes and returns the first waiter. */
  shift(): W | undefined {
    const first = this.#first
    if (first === undefined) return undefined
    this.remove(first)
    return first.waiter
  }
}
