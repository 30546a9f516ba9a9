/** A pseudo-random generator: the same seed gives the same numbers. */
export interface Random {
  /** A number in [0, 1). */
  number(): number
  /** 32 random bits. */
  bits(): number
}

/** Creates a generator (sfc32) from a seed of 32 hexadecimal digits. */
export function seededRandom(seed: string): Random {
  const part = (i: number): number => Number.parseInt(seed.slice(i * 8, i * 8 + 8), 16) | 0
  let [a, b, c, d] = [part(0), part(1), part(2), part(3)]
  const bits = (): number => {
    const sum = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return sum >>> 0
  }
  // Skip the first numbers, which still reveal the seed.
  for (let i = 0; i < 12; i++) bits()
  return {
    bits,
    // 53 bits, as in `Math.random`.
    number: () => ((bits() >>> 5) * 0x4000000 + (bits() >>> 6)) / 2 ** 53,
  }
}

/** Makes a UUID, version 4, from random numbers. */
export function randomUuid(random: Random): string {
  const part = (): string => random.bits().toString(16).padStart(8, '0')
  const hex = part() + part() + part() + part()
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
