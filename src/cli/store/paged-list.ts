/** One page of a list. */
interface ReadPage<T> {
  readonly items: readonly T[]
  readonly next?: string | undefined
}

/** The most that is read at once. */
const PAGE = 500

/** A list that is read page by page, as far as asked for. */
export class PagedList<T> implements AsyncIterable<readonly T[]> {
  /** Where the rest begins, if there is more than was read. */
  next: string | undefined
  readonly #read: (page: { limit: number; after?: string }) => Promise<ReadPage<T>>
  readonly #limit: number

  constructor(
    read: (page: { limit: number; after?: string }) => Promise<ReadPage<T>>,
    { limit, after }: { readonly limit: number; readonly after?: string | undefined },
  ) {
    this.#read = read
    this.#limit = limit
    this.next = after
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly T[], void, undefined> {
    let count = 0
    do {
      const page = await this.#read({
        limit: Math.min(PAGE, this.#limit - count),
        ...(this.next !== undefined && { after: this.next }),
      })
      count += page.items.length
      this.next = page.next
      yield page.items
    } while (this.next !== undefined && count < this.#limit)
  }
}
