import type { Ending, Iid } from '../../store/instances.ts'

/** Who waits in this process for news of what. */
export class Waiters<Key, Value> {
  readonly #waiting = new Map<Key, Set<(value: Value) => void>>()

  /** Waits for news. Call the result to stop. */
  subscribe(key: Key, listener: (value: Value) => void): () => void {
    const all = this.#waiting.get(key) ?? new Set()
    all.add(listener)
    this.#waiting.set(key, all)
    return () => {
      if (all.delete(listener) && all.size === 0) this.#waiting.delete(key)
    }
  }

  /** Tells those who wait. */
  tell(key: Key, value: Value): void {
    for (const listener of this.#waiting.get(key) ?? []) listener(value)
  }
}

/**
 * Who waits for the end of which instance, also when it is claimed here only later. `undefined` says
 * that it has left this process.
 */
export class Endings extends Waiters<Iid, Ending | undefined> {}
