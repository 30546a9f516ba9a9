import type { Ending, Iid } from '../../store/instances.ts'

/** Listeners of this process, by key. */
export class Waiters<Key, Value> {
  readonly #waiting = new Map<Key, Set<(value: Value) => void>>()

  /** Adds a listener. Call the result to remove it. */
  subscribe(key: Key, listener: (value: Value) => void): () => void {
    const all = this.#waiting.get(key) ?? new Set()
    all.add(listener)
    this.#waiting.set(key, all)
    return () => {
      if (all.delete(listener) && all.size === 0) this.#waiting.delete(key)
    }
  }

  /** Calls the listeners of a key. */
  tell(key: Key, value: Value): void {
    for (const listener of this.#waiting.get(key) ?? []) listener(value)
  }
}

/**
 * Listeners for the ends of instances, including instances that this process claims later. They receive
 * `undefined` when the instance leaves this process without having ended.
 */
export class Endings extends Waiters<Iid, Ending | undefined> {}
