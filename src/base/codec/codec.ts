import { isPlainObject } from '../plain-object.ts'
import { BANG, MAX_DEPTH, Packer } from './pack.ts'
import { isWrapped, unreadable } from './transform.ts'
import { damaged, excerpt, unpack } from './unpack.ts'

// Values as text. What JSON can express is written as JSON and read by the native parser. Any other
// value is written as `!` and the JSON of its tagged form, which is that of `pack.ts`.
//
//   - A value comes back equal, or it is refused with its path. The comment on `encode` names the
//     few things that are changed or left out.
//   - One text per value: what comes back is written as it was. So texts can be compared.
//   - The text has no control characters (JSON escapes them), so texts can be joined by one.

/** Turns values into what a store keeps, and back. `decode(encode(x))` must equal `x`. */
export interface Codec {
  encode(value: unknown): Uint8Array | string
  decode(data: Uint8Array | string): unknown
}

// What calls without input and calls without result have: by far the most frequent value of those
// that JSON has no word for.
const UNDEFINED = '!"!u"'

/**
 * Writes a value as text that `decode` reads.
 *
 * Keeps what JSON keeps, and Date, Map, Set, bigint, Uint8Array, undefined, NaN, infinities, -0 and
 * errors. A value is a tree: an object that is referred to twice comes back as two. A Buffer comes
 * back as Uint8Array, a subclass of Date as Date, an object without a prototype as a plain one, a
 * hole in an array as undefined; properties that are not enumerable, and named ones of arrays, are
 * left out, even if they are `toJSON`.
 *
 * Throws a `TypeError` that begins with `label` and says what is refused and where: functions,
 * symbols, instances of classes, cycles, and nesting of more than 1,000 levels.
 */
export function encode(value: unknown, label = 'codec'): string {
  if (value === undefined) return UNDEFINED
  try {
    if (isJson(value, 0)) return JSON.stringify(value)
  } catch {
    // A getter threw: the packer finds out where.
  }
  const packer = new Packer()
  const packed = packer.packRoot(value, label)
  // Such as an object of another realm: unlike at first sight, there was nothing special in it.
  // Of the value itself JSON would call a `toJSON`, which the packer has left out.
  if (!packer.isTagged) return JSON.stringify(unpack(packed, 1))
  return '!' + JSON.stringify(packed)
}

/** Reads what `encode` wrote. Throws a `SyntaxError` if the text is anything else. */
export function decode(text: string): unknown {
  if (typeof text !== 'string') {
    throw new TypeError(`codec: text must be a string, got ${typeof text}`)
  }
  if (text === UNDEFINED) return undefined
  const isTagged = text.charCodeAt(0) === BANG
  let parsed: unknown
  try {
    parsed = JSON.parse(isTagged ? text.slice(1) : text)
  } catch (cause) {
    throw isWrapped(text) ? unreadable(text) : damaged(excerpt(text), cause)
  }
  return isTagged ? unpack(parsed, 1) : parsed
}

/**
 * A quick check: is this plain JSON throughout? Returns false when in doubt; the packer decides.
 */
function isJson(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || isJsonContainer(value, depth + 1)
    case 'undefined':
    case 'bigint':
    case 'function':
    case 'symbol':
      return false
  }
}

function isJsonContainer(value: object, depth: number): boolean {
  if (depth > MAX_DEPTH) return false // or a cycle
  if (Object.hasOwn(value, 'toJSON')) return false // JSON would call it, seen by us or not
  if (Array.isArray(value)) {
    if (Object.getPrototypeOf(value) !== Array.prototype) return false
    for (let i = 0; i < value.length; i++) {
      if (!isJson(value[i], depth)) return false
    }
    return true
  }
  if (!isPlainObject(value)) return false
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  // Unlike Object.keys this allocates nothing; reading an inherited property as well is harmless.
  for (const key in value) {
    if (!isJson((value as Record<string, unknown>)[key], depth)) return false
  }
  return true
}
