/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  number(): number
  /** 32 random bits. */
  bits(): number
}

/** A generator (sfc32) for a seed of 32 hexadecimal digits. */
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
  // The first ones still show the seed.
  for (let i = 0; i < 12; i++) bits()
  return {
    bits,
    // 53 bits, as in `Math.random`.
    number: () => ((bits() >>> 5) * 0x4000000 + (bits() >>> 6)) / 2 ** 53,
  }
}

/** A UUID of version 4 from such numbers. */
export function randomUuid(random: Random): string {
  const part = (): string => random.bits().toString(16).padStart(8, '0')
  const hex = part() + part() + part() + part()
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
}
