// A binary min-heap of keys by number, each key at most once.
//
//   - `at[i]` is the priority of `keys[i]`, and `index.get(keys[i]) === i`.
//   - A parent is never later than its children; equal numbers leave in the order they came.

/**
 * Keys ordered by a number, smallest first; each key is in it once.
 *
 * Made for timers: many may be set for the same thing, and only one of them is kept.
 */
export class Heap<K> {
  readonly #keys: K[] = []
  readonly #at: number[] = []
  readonly #order: number[] = []
  readonly #index = new Map<K, number>()
  #next = 0

  get size(): number {
    return this.#keys.length
  }

  has(key: K): boolean {
    return this.#index.has(key)
  }

  /** The priority of a key, or `undefined` when it is not in the heap. */
  get(key: K): number | undefined {
    const i = this.#index.get(key)
    return i === undefined ? undefined : this.#at[i]
  }

  /** The first key and its number, left in place. */
  peek(): { readonly key: K; readonly at: number } | undefined {
    return this.#keys.length === 0 ? undefined : { key: this.#keys[0]!, at: this.#at[0]! }
  }

  /** The keys whose number is at most this, in no particular order. */
  keysUpTo(at: number): K[] {
    return this.#keys.filter((_, i) => this.#at[i]! <= at)
  }

  /** Adds a key; one that is already in it keeps the smaller number. */
  add(key: K, at: number): void {
    const held = this.get(key)
    if (held === undefined || at < held) this.set(key, at)
  }

  /** Adds a key, or moves it to another number. */
  set(key: K, at: number): void {
    if (Number.isNaN(at)) throw new RangeError('heap: priority must not be NaN')
    const held = this.#index.get(key)
    const i = held ?? this.#keys.length
    this.#put(i, key, at, this.#next++)
    this.#settle(i)
  }

  /** Removes a key; false if it was not in it. */
  delete(key: K): boolean {
    const i = this.#index.get(key)
    if (i === undefined) return false
    this.#removeAt(i)
    return true
  }

  /** Takes out the first key. */
  pop(): { readonly key: K; readonly at: number } | undefined {
    const first = this.peek()
    if (first !== undefined) this.#removeAt(0)
    return first
  }

  clear(): void {
    this.#keys.length = this.#at.length = this.#order.length = 0
    this.#index.clear()
  }

  #removeAt(i: number): void {
    const last = this.#keys.length - 1
    const [key, at, order] = [this.#keys[last]!, this.#at[last]!, this.#order[last]!]
    this.#index.delete(this.#keys[i]!)
    this.#keys.length = this.#at.length = this.#order.length = last
    if (i === last) return
    this.#put(i, key, at, order)
    this.#settle(i)
  }

  #put(i: number, key: K, at: number, order: number): void {
    this.#keys[i] = key
    this.#at[i] = at
    this.#order[i] = order
    this.#index.set(key, i)
  }

  #before(a: number, b: number): boolean {
    const [left, right] = [this.#at[a]!, this.#at[b]!]
    return left < right || (left === right && this.#order[a]! < this.#order[b]!)
  }

  #swap(a: number, b: number): void {
    const [key, at, order] = [this.#keys[a]!, this.#at[a]!, this.#order[a]!]
    this.#put(a, this.#keys[b]!, this.#at[b]!, this.#order[b]!)
    this.#put(b, key, at, order)
  }

  #settle(i: number): void {
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!this.#before(i, parent)) break
      this.#swap(i, parent)
      i = parent
    }
    for (;;) {
      const left = 2 * i + 1
      if (left >= this.#keys.length) return
      const right = left + 1
      const child = right < this.#keys.length && this.#before(right, left) ? right : left
      if (!this.#before(child, i)) return
      this.#swap(i, child)
      i = child
    }
  }
}
