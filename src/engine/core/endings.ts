import type { Ending, Iid } from '../../store/instances.ts'

/** Listeners of this process, by key. */
export class Listeners<Key, Value> {
  readonly #listeners = new Map<Key, Set<(value: Value) => void>>()

  /** Adds a listener. Call the result to remove it. */
  subscribe(key: Key, listener: (value: Value) => void): () => void {
    const all = this.#listeners.get(key) ?? new Set()
    all.add(listener)
    this.#listeners.set(key, all)
    return () => {
      if (all.delete(listener) && all.size === 0) this.#listeners.delete(key)
    }
  }

  /** Calls the listeners of a key. */
  notify(key: Key, value: Value): void {
    for (const listener of this.#listeners.get(key) ?? []) listener(value)
  }
}

/**
 * Listeners for the ends of instances, including instances that this process claims later. They receive
 * `undefined` when the instance leaves this process without having ended.
 */
export class Endings extends Listeners<Iid, Ending | undefined> {}
