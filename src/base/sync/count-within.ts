/** What the entries of a batch may come to together: bytes, messages. */
export interface Bound<Entry> {
  readonly max: number
  readonly of: (entry: Entry) => number
}

/**
 * How many entries, from the first one on, fit into a batch: at least one, at most `maxEntries`, and
 * none that would exceed a bound. One that is too large by itself goes alone.
 */
export function countWithin<Entry>(
  entries: readonly Entry[],
  maxEntries: number,
  bounds: readonly Bound<Entry>[] = [],
): number {
  let count = Math.min(entries.length, maxEntries)
  for (const { max, of } of bounds) {
    let sum = 0
    for (let i = 0; i < count; i++) {
      sum += of(entries[i]!)
      if (sum > max) count = Math.max(i, 1)
    }
  }
  return count
}
