/**
 * The parts of a batch that are still to be sent: the whole batch at first.
 *
 * One item can make a call fail for all of them. Split such a part: two parts follow in its place, until
 * the item to blame is alone. Only for failures after which nothing of the part was done.
 *
 * ```ts
 * const parts = new BatchSplitter(batch)
 * for (const part of parts) {
 *   try {
 *     await send(part)
 *   } catch (error) {
 *     if (!parts.split(part)) reject(part, error)
 *   }
 * }
 * ```
 */
export class BatchSplitter<T> implements Iterable<readonly T[]> {
  /** The next one is the last. */
  readonly #parts: (readonly T[])[]

  constructor(batch: readonly T[]) {
    this.#parts = [batch]
  }

  /** Takes the parts in the order of their items, including those that are added on the way. */
  *[Symbol.iterator](): Generator<readonly T[], void, undefined> {
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) yield part
  }

  /** Replaces a part by its first and its second half. Returns false for an item alone, which cannot be split. */
  split(part: readonly T[]): boolean {
    if (part.length < 2) return false
    const middle = part.length >> 1
    this.#parts.push(part.slice(middle), part.slice(0, middle))
    return true
  }

  /** Has a part sent again, before the others. */
  again(part: readonly T[]): void {
    this.#parts.push(part)
  }

  /** Takes all items that were not sent, in order: no part is left. */
  takeRest(): readonly T[] {
    return this.#parts.splice(0).toReversed().flat()
  }
}
