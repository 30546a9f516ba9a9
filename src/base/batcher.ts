/**
 * Gathers single calls into batches: while one batch is under way, the next one fills.
 *
 * No timer is involved, so a call that comes alone is not delayed.
 */
export class Batcher<T, R> {
  readonly #run: (items: readonly T[]) => Promise<readonly R[]>
  readonly #most: number
  #waiting: { item: T; resolve: (result: R) => void; reject: (error: unknown) => void }[] = []
  #running = false

  /** `run` answers one result for each item, in order. A batch that fails, fails all its calls. */
  constructor(run: (items: readonly T[]) => Promise<readonly R[]>, most = 500) {
    this.#run = run
    this.#most = most
  }

  call(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#running) {
        this.#running = true
        // In a microtask, so that calls made together go together.
        queueMicrotask(() => void this.#pump())
      }
    })
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      try {
        const results = await this.#run(batch.map(({ item }) => item))
        batch.forEach(({ resolve }, i) => resolve(results[i]!))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#running = false
  }
}
