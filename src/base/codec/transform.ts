// What a chain of transforms does to encoded text before it is stored.
//
//   - What comes in is text without control characters, and so is what goes out. Text that no
//     transform changes stays as it is.
//   - Wrapped text names the transforms that made it, in order: `~xz.aes:` and base64. So a reader
//     knows how to undo them, whatever its own chain writes today.
//   - Text that cannot be unwrapped is passed on with the reason in front of it (`~!`). To decode it
//     throws that reason; to wrap it again gives back what was stored.

import { describe } from '../describe.ts'

/** One step of a codec chain: turns the bytes of an encoded value into other bytes, and back. */
export interface Transform {
  readonly kind: 'transform'
  /**
   * Stored with every value that it changed, and unique in a chain: 1 to 20 lower-case letters, digits
   * and hyphens. Never change it: a value can only be read by a transform with the name that wrote it.
   */
  readonly name: string
  /**
   * Returns other bytes, or `undefined` to leave these as they are. `about` says what the value is, and
   * of which instance as far as that is known; `decode` gets the same text.
   */
  encode(bytes: Uint8Array, about: string): Uint8Array | undefined
  /** Reverses `encode`. Throws an error that says why it cannot. */
  decode(bytes: Uint8Array, about: string): Uint8Array
}

const WRAPPED = '~x'
const UNREADABLE = '~!'
const NAME = /^[a-z0-9-]{1,20}$/
const HEAD = /^~x([a-z0-9-]+(?:\.[a-z0-9-]+)*):/

/** Wraps encoded text by a list of transforms, and unwraps it. */
export class TransformChain {
  readonly #transforms: readonly Transform[]
  readonly #byName: ReadonlyMap<string, Transform>

  constructor(transforms: readonly Transform[]) {
    this.#transforms = transforms
    this.#byName = new Map(transforms.map((transform) => [transform.name, transform]))
  }

  /** Applies every transform, in order. Throws what a transform throws. */
  wrap(text: string, about: string): string {
    if (text.startsWith(UNREADABLE)) return withoutReason(text)
    if (isWrapped(text)) return text
    let bytes: Uint8Array | undefined
    let names = ''
    for (const transform of this.#transforms) {
      bytes ??= Buffer.from(text, 'utf8')
      const changed = transform.encode(bytes, about)
      if (changed === undefined) continue
      if (!(changed instanceof Uint8Array)) {
        throw new TypeError(
          `codec: transform "${transform.name}" must return bytes or undefined, got ${describe(changed)}`,
        )
      }
      bytes = changed
      names += names === '' ? transform.name : `.${transform.name}`
    }
    return names === '' ? text : `${WRAPPED}${names}:${toBase64(bytes!)}`
  }

  /** Reverses `wrap`. Never throws: text that cannot be unwrapped comes back with the reason. */
  unwrap(text: string, about: string): string {
    if (!text.startsWith(WRAPPED)) return text
    try {
      return this.#unwrap(text, about)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return withReason(text, reason)
    }
  }

  #unwrap(text: string, about: string): string {
    const names = namesIn(text)
    const data = text.slice(text.indexOf(':') + 1)
    let bytes: Uint8Array = Buffer.from(data, 'base64')
    if (Math.ceil(bytes.length / 3) * 4 !== data.length) throw new SyntaxError(DAMAGED)
    for (const name of names.toReversed()) {
      const transform = this.#byName.get(name)
      if (transform === undefined) throw new Error(unknownTransform(name, [...this.#byName.keys()]))
      bytes = transform.decode(bytes, about)
    }
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  }
}

function toBase64({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

const DAMAGED = 'it is cut off or damaged'

/** Whether text was written through a chain of transforms, or could not be read through one. */
export function isWrapped(text: string): boolean {
  return text.charCodeAt(0) === 126 && (text.startsWith(WRAPPED) || text.startsWith(UNREADABLE))
}

/** Why wrapped text cannot be read: for the message of an error. */
export function whyUnreadable(text: string): string {
  if (text.startsWith(UNREADABLE)) {
    const end = text.indexOf(':')
    return text.slice(end + 1, end + 1 + Number(text.slice(UNREADABLE.length, end)))
  }
  if (!HEAD.test(text)) return DAMAGED
  return `it was written with a codec (${namesIn(text).join(', ')}), and this process has none; pass the same codec to open() or connect()`
}

/** The error for wrapped text where a value is expected. */
export function unreadable(text: string): SyntaxError {
  return new SyntaxError(`codec: cannot read a stored value: ${whyUnreadable(text)}`)
}

function withReason(text: string, reason: string): string {
  // Without control characters, which separate the fields of history, and lone surrogates.
  // eslint-disable-next-line no-control-regex -- control characters are what is removed
  const plain = reason.slice(0, 500).replace(/[\x00-\x1f\p{Surrogate}]+/gu, ' ')
  return `${UNREADABLE}${plain.length}:${plain}${text}`
}

function withoutReason(text: string): string {
  return text.slice(text.indexOf(':') + 1 + whyUnreadable(text).length)
}

function namesIn(text: string): readonly string[] {
  const names = HEAD.exec(text)?.[1]
  if (names === undefined) throw new SyntaxError(DAMAGED)
  return names.split('.')
}

function unknownTransform(name: string, known: readonly string[]): string {
  const here = known.length === 0 ? 'none' : known.map((one) => `"${one}"`).join(', ')
  return `it was written with the transform "${name}", and the codec of this process has ${here}; add it to codec`
}

/** Validates the transforms of a chain. `what` begins the error message. */
export function checkTransform(value: unknown, what: string): Transform {
  const given = value as Partial<Transform>
  if (typeof given.name !== 'string' || !NAME.test(given.name)) {
    throw new TypeError(
      `${what}: name must have 1 to 20 lower-case letters, digits and hyphens, got ${describe(given.name)}`,
    )
  }
  return value as Transform
}
