import type { Clock } from '../../../base/time/clock.ts'

/**
 * A map that forgets: an entry stays for at least `ms`, and is gone after twice that.
 *
 * It needs no timer: there are two maps, and the older one is dropped as a whole.
 */
export class Recent<K, V> {
  readonly #clock: Clock
  readonly #ms: number
  #newer = new Map<K, V>()
  #older = new Map<K, V>()
  #turnedMs: number

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#turnedMs = clock.now()
  }

  /** Whether nothing is remembered. */
  get isEmpty(): boolean {
    return this.#newer.size === 0 && this.#older.size === 0
  }

  get(key: K): V | undefined {
    this.#forget()
    return this.#newer.get(key) ?? this.#older.get(key)
  }

  /** Remembers a value, from now on. */
  set(key: K, value: V): void {
    this.#forget()
    this.#newer.set(key, value)
  }

  #forget(): void {
    const agoMs = this.#clock.now() - this.#turnedMs
    if (agoMs < this.#ms) return
    this.#older = agoMs < 2 * this.#ms ? this.#newer : new Map()
    this.#newer = new Map()
    this.#turnedMs = this.#clock.now()
  }
}
