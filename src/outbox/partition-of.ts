// FNV-1a over the UTF-8 bytes of the key, with the final mixing of MurmurHash3. It decides where messages
// are stored, so it must never change: `partition-of.test.ts` pins some values.

const encoder = new TextEncoder()

/** The partition of a key: the same in every process and every version. */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions
}
