import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096
const RANDOM_BYTES = 10

/**
 * Creates UUIDs, version 7, which sort by the time of their creation. Those of one maker sort in the
 * order of their creation, even within a millisecond and when the clock is set back.
 *
 * `date` returns milliseconds since 1970; `fill` writes random bytes.
 */
export function uuidMaker(
  date: () => number = Date.now,
  fill: (bytes: Uint8Array) => unknown = randomFillSync,
): () => string {
  // Generating 16 random bytes costs about as much as 4,096.
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  // Not below 0: the format has no room for a date before 1970.
  let lastMs = 0
  let sequence = 0

  return () => {
    if (used + RANDOM_BYTES > POOL_BYTES) {
      fill(pool)
      used = 0
    }
    const random = pool.subarray(used, (used += RANDOM_BYTES))
    const ms = date()
    if (ms > lastMs) {
      lastMs = ms
      // Leaves half of the range to count up within this millisecond.
      sequence = ((random[0]! & 0x07) << 8) | random[1]!
    } else if (++sequence > 0xfff) {
      lastMs++
      sequence = 0
    }
    const time = lastMs.toString(16).padStart(12, '0')
    const counter = sequence.toString(16).padStart(3, '0')
    const variant = ((random[2]! & 0x3f) | 0x80).toString(16)
    const tail = Buffer.from(random.buffer, random.byteOffset + 3, 7).toString('hex')
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`
  }
}
