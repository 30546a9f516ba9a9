// Many callers that all wait for the same batch go on at the same time, and make the next one
// together: then either the store works or this side, never both. Where that costs more than one
// more wait for the disk, a pile is sent in two halves.

/** About what an item costs on this side, and in the store. */
const HERE_MS = 0.005
const THERE_MS = 0.008

/** A pile that is never worth it. */
const FEW = 128

/** Decides how much of a pile goes into a batch that is sent while no other is under way. */
export class Halves {
  /** How long the store waited for the disk with the latest batch that tells it. */
  #waitMs = Infinity

  /** A batch of so many items was alone under way for so long. */
  took(items: number, ms: number): void {
    this.#waitMs = Math.max(0, ms - items * (HERE_MS + THERE_MS))
  }

  /** How many of so many items go now. */
  firstOf(waiting: number): number {
    const isWorthIt = waiting >= FEW && waiting * HERE_MS > this.#waitMs
    return isWorthIt ? Math.ceil(waiting / 2) : waiting
  }
}
