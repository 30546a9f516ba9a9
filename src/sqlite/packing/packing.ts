// What crosses between the threads, as flat lists: objects would be cloned field by field, which takes
// three to four times as long for a batch of 100 turns, and small buffers one by one.

/** Numbers, texts and bytes, each in the order they were written. */
export interface Packed {
  readonly numbers: Float64Array | readonly number[]
  readonly texts: readonly string[]
  /** Missing where there are none. */
  readonly bytes: Uint8Array | undefined
}

/**
 * Fewer numbers than this cross sooner as they are, since a buffer of its own is what costs then: a
 * commit of one start and one turn takes 0.54 times as long.
 */
const FEW = 64

/** Writes a `Packed`. */
export class PackWriter {
  readonly #numbers: number[] = []
  readonly #texts: string[] = []
  readonly #parts: Uint8Array[] = []

  number(...values: readonly number[]): void {
    this.#numbers.push(...values)
  }

  text(...values: readonly string[]): void {
    this.#texts.push(...values)
  }

  /** How many there are, and each. */
  list(values: readonly number[]): void {
    this.#numbers.push(values.length)
    for (const value of values) this.#numbers.push(value)
  }

  /** A text that may be missing. */
  optional(value: string | null): void {
    this.#numbers.push(value === null ? 0 : 1)
    if (value !== null) this.#texts.push(value)
  }

  bytes(value: Uint8Array): void {
    this.#numbers.push(value.length)
    this.#parts.push(value)
  }

  packed(): Packed {
    const numbers = this.#numbers
    return {
      numbers: numbers.length < FEW ? numbers : new Float64Array(numbers),
      texts: this.#texts,
      bytes: this.#parts.length === 0 ? undefined : joined(this.#parts),
    }
  }
}

// Not Buffer.concat(): of its pool, all would be sent.
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Reads a `Packed` in the order it was written. */
export class PackReader {
  readonly #packed: Packed
  #number = 0
  #text = 0
  #byte = 0

  constructor(packed: Packed) {
    this.#packed = packed
  }

  number(): number {
    return this.#packed.numbers[this.#number++]!
  }

  text(): string {
    return this.#packed.texts[this.#text++]!
  }

  /** What `list()` wrote. */
  numbers(length = this.number()): readonly number[] {
    const numbers: number[] = []
    for (let i = 0; i < length; i++) numbers.push(this.number())
    return numbers
  }

  /** What `optional()` wrote. */
  optional(): string | null {
    return this.number() === 1 ? this.text() : null
  }

  /** This many of what `read` reads. */
  list<Item>(length: number, read: (from: PackReader) => Item): readonly Item[] {
    const items: Item[] = []
    for (let i = 0; i < length; i++) items.push(read(this))
    return items
  }

  /** A view: copy it to keep it. */
  bytes(): Uint8Array {
    const from = this.#byte
    this.#byte += this.number()
    return this.#packed.bytes!.subarray(from, this.#byte)
  }
}
