import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 4096
const RANDOM_BYTES = 10

/**
 * Makes UUIDs of version 7: they sort by the time they were made, and those of one maker in the
 * order they were made, also within a millisecond and when the clock is set back.
 *
 * `date` gives milliseconds since 1970; `fill` writes random bytes.
 */
export function uuidMaker(
  date: () => number = Date.now,
  fill: (bytes: Uint8Array) => unknown = randomFillSync,
): () => string {
  // Asking for random bytes costs about the same for 16 as for 4,096.
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
      // Half the range is left for counting up within this millisecond.
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
