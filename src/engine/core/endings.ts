import type { Ending, Iid } from '../../store/instances.ts'

/** Who waits in this process for news of what. */
export class Waiters<Key, News> {
  readonly #waiting = new Map<Key, Set<(news: News) => void>>()

  /** Waits for news. Call the result to stop. */
  wait(key: Key, told: (news: News) => void): () => void {
    const all = this.#waiting.get(key) ?? new Set()
    all.add(told)
    this.#waiting.set(key, all)
    return () => {
      if (all.delete(told) && all.size === 0) this.#waiting.delete(key)
    }
  }

  /** Tells those who wait. */
  tell(key: Key, news: News): void {
    for (const told of this.#waiting.get(key) ?? []) told(news)
  }
}

/**
 * Who waits for the end of which instance, also when it is claimed here only later. `undefined` says
 * that it has left this process.
 */
export class Endings extends Waiters<Iid, Ending | undefined> {}
