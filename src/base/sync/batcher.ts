import { BatchSplitter } from './batch-splitter.ts'
import { type Bound, countWithin } from './count-within.ts'

/** How much goes into one batch. */
export interface BatchLimits<T> {
  /** How many items at the most. @default 500 */
  readonly maxItems?: number
  /** A batch is closed when its items are this large together. One that is larger goes alone. */
  readonly maxBytes?: number
  readonly bytesOf?: (item: T) => number
  /**
   * Whether to split a batch that failed like this in two and run both parts, until the item to blame
   * fails alone. Only for failures after which nothing of the batch was done. @default never
   */
  readonly splitsOn?: (error: unknown) => boolean
}

/** The result of an item that was left alone: it is run again, ahead of all that came later. */
export const AGAIN = Symbol('again')

interface Waiting<T, R> {
  readonly item: T
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers single calls into batches: while one batch is under way, the next one fills.
 *
 * No timer is involved, so a call that comes alone is not delayed.
 */
export class Batcher<T, R> {
  readonly #run: (items: readonly T[]) => Promise<readonly (R | typeof AGAIN)[]>
  readonly #maxItems: number
  readonly #bounds: readonly Bound<Waiting<T, R>>[]
  readonly #splitsOn: (error: unknown) => boolean
  #waiting: Waiting<T, R>[] = []
  #running = false

  /** `run` answers one result for each item, in order. A batch that fails, fails all its calls. */
  constructor(
    run: (items: readonly T[]) => Promise<readonly (R | typeof AGAIN)[]>,
    { maxItems = 500, maxBytes = Infinity, bytesOf, splitsOn }: BatchLimits<T> = {},
  ) {
    this.#run = run
    this.#maxItems = maxItems
    this.#bounds = bytesOf ? [{ max: maxBytes, of: ({ item }) => bytesOf(item) }] : []
    this.#splitsOn = splitsOn ?? (() => false)
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
      const count = countWithin(this.#waiting, this.#maxItems, this.#bounds)
      const parts = new BatchSplitter(this.#waiting.splice(0, count))
      for (const part of parts) {
        try {
          const results = await this.#run(part.map(({ item }) => item))
          const left = part.filter((_, i) => results[i] === AGAIN)
          part.forEach(({ resolve }, i) => {
            if (results[i] !== AGAIN) resolve(results[i] as R)
          })
          // What is left must not be overtaken.
          if (left.length > 0) this.#waiting = [...left, ...parts.takeRest(), ...this.#waiting]
        } catch (error) {
          if (this.#splitsOn(error) && parts.split(part)) continue
          for (const { reject } of part) reject(error)
        }
      }
    }
    this.#running = false
  }
}
