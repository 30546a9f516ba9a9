import { types } from 'node:util'

import { type ErrorData, isError, putTogether, takeApart, takeThrownApart } from './errors.ts'

// Values as text. What JSON can say is written as JSON and read by the native parser. Any other
// value is written as `!` and JSON in which a string that begins with `!` is a tag:
//
//   "!u"  undefined          "!nNaN"  number         "!i12"  bigint       "!!x"  the string "!x"
//   "!d…" Date, ISO or empty  "!b…"    bytes, base64
//   ["!m", key, value, …] Map   ["!s", value, …] Set   ["!e", ErrorData] error
//
//   K1. A value comes back equal, or it is refused with its path. What little is changed or left
//       out, the comment on `encode` names.
//   K2. Since every string of the user that begins with `!` gets a second one, no data can be
//       mistaken for a tag. Keys are never tags.
//   K3. One text per value: what comes back is written as it was. So texts can be compared.
//   K4. The text has no control characters (JSON escapes them), so texts can be joined by one.

/** Turns values into what a store keeps, and back. `decode(encode(x))` must equal `x`. */
export interface Codec {
  encode(value: unknown): Uint8Array | string
  decode(data: Uint8Array | string): unknown
}

/** The codec used when none is given. Reads bytes as UTF-8. */
export const defaultCodec: Codec = {
  encode: (value) => encode(value),
  decode: (data) => decode(typeof data === 'string' ? data : textOf(data)),
}

const MAX_DEPTH = 1000
const MAX_ERROR_DEPTH = 16
const MAX_NESTED_ERRORS = 100
const BANG = 33

/**
 * Writes a value as text that `decode` reads.
 *
 * Keeps what JSON keeps, and Date, Map, Set, bigint, Uint8Array, undefined, NaN, infinities, -0 and
 * errors. A value is a tree: an object that is referred to twice comes back as two. A Buffer comes
 * back as Uint8Array, a subclass of Date as Date, a hole in an array as undefined; properties that
 * are not enumerable, and named ones of arrays, are left out.
 *
 * Throws a `TypeError` that begins with `label` and says what is refused and where: functions,
 * symbols, instances of classes, cycles, and nesting of more than 1,000 levels.
 */
export function encode(value: unknown, label = 'codec'): string {
  try {
    if (isPlain(value, 0)) return JSON.stringify(value)
  } catch {
    // A getter threw: the packer finds out where.
  }
  const packer = new Packer()
  const packed = packer.packRoot(value, label)
  // Such as an object of another realm: unlike at first sight, there was nothing special in it.
  if (!packer.isTagged) return JSON.stringify(value)
  return '!' + JSON.stringify(packed)
}

/** Reads what `encode` wrote. Throws a `SyntaxError` if the text is anything else. */
export function decode(text: string): unknown {
  if (typeof text !== 'string') {
    throw new TypeError(`codec: text must be a string, got ${typeof text}`)
  }
  const isTagged = text.charCodeAt(0) === BANG
  let parsed: unknown
  try {
    parsed = JSON.parse(isTagged ? text.slice(1) : text)
  } catch (cause) {
    throw damaged(excerpt(text), cause)
  }
  return isTagged ? unpack(parsed, 1) : parsed
}

/** The data of anything thrown; see `errorToData`. */
export function packError(thrown: unknown): ErrorData {
  return new Packer().packThrown(thrown)
}

/** The error of such data; see `errorFromData`. */
export function unpackError(data: ErrorData): Error {
  // A copy, because unpacking works in place and the caller may read the data twice.
  const copy = structuredClone(data)
  return putTogether(copy, (value) => unpack(value, 1))
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new SyntaxError(`codec: cannot read ${bytes.length} bytes as UTF-8`, { cause })
  }
}

/** The quick look: is this plain JSON all through? Says no when in doubt; the packer knows. */
function isPlain(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || isPlainContainer(value, depth + 1)
    case 'undefined':
    case 'bigint':
    case 'function':
    case 'symbol':
      return false
  }
}

function isPlainContainer(value: object, depth: number): boolean {
  if (depth > MAX_DEPTH) return false // or a cycle
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false
    for (let i = 0; i < value.length; i++) {
      if (!isPlain(value[i], depth)) return false
    }
    return true
  }
  if (prototype !== Object.prototype && prototype !== null) return false
  if (Object.getOwnPropertySymbols(value).length > 0) return false
  // Unlike Object.keys this allocates nothing; to look at an inherited property too does no harm.
  for (const key in value) {
    if (!isPlain((value as Record<string, unknown>)[key], depth)) return false
  }
  return true
}

/** Why a value cannot be stored. Its place is the packer's path when it is thrown. */
class Refusal extends Error {
  readonly hint: string

  constructor(what: string, hint = '') {
    super(what)
    this.hint = hint
  }
}

/** Writes one value in the tagged form, keeping track of where it is. */
class Packer {
  /** Whether anything was written that plain JSON has no word for. */
  isTagged = false
  /** The containers around the current value, and the step taken in each: a key or a position. */
  readonly #ancestors: object[] = []
  readonly #path: (string | number)[] = []
  /** How many errors are around the current value. Inside one, nothing is refused. */
  #errorDepth = 0
  #nestedErrors = 0

  packRoot(value: unknown, label: string): unknown {
    try {
      return this.#pack(value)
    } catch (cause) {
      const path = this.#pathTo(this.#path.length)
      if (cause instanceof Refusal) {
        // oxlint-disable-next-line preserve-caught-error -- the refusal says nothing more
        throw new TypeError(`${label}: cannot store ${cause.message} at ${path}${cause.hint}`)
      }
      throw new TypeError(`${label}: cannot read the value at ${path}`, { cause })
    }
  }

  packThrown(thrown: unknown): ErrorData {
    try {
      if (isError(thrown)) return this.#packError(thrown)
      this.#errorDepth = 1
      return takeThrownApart(thrown, this.#packOrDescribe([thrown], 0))
    } catch {
      return { name: 'Error', message: 'what was thrown cannot be read' }
    }
  }

  #pack(value: unknown): unknown {
    switch (typeof value) {
      case 'string':
        return value.charCodeAt(0) === BANG ? '!' + value : value
      case 'boolean':
        return value
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value
        return this.#tag(Object.is(value, -0) ? '!n-0' : `!n${value}`)
      case 'bigint':
        return this.#tag(`!i${value}`)
      case 'undefined':
        return this.#tag('!u')
      case 'object':
        return value === null ? null : this.#packObject(value)
      case 'function':
      case 'symbol':
        throw new Refusal(`a ${typeof value}`)
    }
  }

  #tag<T>(packed: T): T {
    this.isTagged = true
    return packed
  }

  #packObject(value: object): unknown {
    const prototype: object | null = Object.getPrototypeOf(value)
    if (prototype === null || isBuiltIn(prototype, 'Object')) return this.#packRecord(value)
    if (Array.isArray(value) && isBuiltIn(prototype, 'Array')) {
      return this.#packList(value, value, [])
    }
    if (types.isDate(value)) {
      const time = Date.prototype.getTime.call(value)
      return this.#tag(Number.isNaN(time) ? '!d' : `!d${new Date(time).toISOString()}`)
    }
    if (types.isUint8Array(value)) {
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      return this.#tag(`!b${bytes.toString('base64')}`)
    }
    if (types.isMap(value) && isBuiltIn(prototype, 'Map')) {
      return this.#packList(value, [...value].flat(), this.#tag(['!m']))
    }
    if (types.isSet(value) && isBuiltIn(prototype, 'Set')) {
      return this.#packList(value, [...value], this.#tag(['!s']))
    }
    if (isError(value)) return this.#tag(['!e', this.#packError(value)])
    throw refusalOf(value, prototype)
  }

  #packRecord(value: object): unknown {
    for (const key of Object.getOwnPropertySymbols(value)) {
      if (Object.prototype.propertyIsEnumerable.call(value, key)) {
        throw new Refusal(`the symbol key ${String(key)}`)
      }
    }
    this.#enter(value)
    const packed: Record<string, unknown> = {}
    for (const key of Object.keys(value)) {
      const member = this.#packMember(value, key)
      if (key !== '__proto__') packed[key] = member
      else Object.defineProperty(packed, key, { value: member, enumerable: true })
    }
    this.#ancestors.pop()
    return packed
  }

  /** Adds the members of a container, given as a list, to what is packed of it. */
  #packList(container: object, members: readonly unknown[], packed: unknown[]): unknown[] {
    this.#enter(container)
    for (let i = 0; i < members.length; i++) packed.push(this.#packMember(members, i))
    this.#ancestors.pop()
    return packed
  }

  #packError(error: Error): ErrorData {
    if (this.#errorDepth === 0) this.#nestedErrors = 0
    else this.#nestedErrors += 1
    if (this.#errorDepth >= MAX_ERROR_DEPTH || this.#nestedErrors > MAX_NESTED_ERRORS) {
      throw new Refusal('one error too many')
    }
    this.#enter(error)
    this.#errorDepth += 1
    const data = takeApart(error, (key) => {
      const packed = this.#packMember(error, key)
      return packed === '!u' ? undefined : packed
    })
    this.#errorDepth -= 1
    this.#ancestors.pop()
    return data
  }

  #enter(container: object): void {
    const first = this.#ancestors.indexOf(container)
    if (first >= 0) throw new Refusal('a cycle', `; it leads back to ${this.#pathTo(first)}`)
    if (this.#ancestors.length >= MAX_DEPTH) {
      throw new Refusal(`more than ${MAX_DEPTH} levels of nesting`)
    }
    this.#ancestors.push(container)
  }

  #packMember(from: object, step: string | number): unknown {
    this.#path.push(step)
    const packed =
      this.#errorDepth > 0
        ? this.#packOrDescribe(from, step)
        : this.#pack((from as Record<string | number, unknown>)[step])
    this.#path.pop()
    return packed
  }

  #packOrDescribe(from: object, step: string | number): unknown {
    const [depth, steps, errorDepth] = [this.#ancestors.length, this.#path.length, this.#errorDepth]
    try {
      return this.#pack((from as Record<string | number, unknown>)[step])
    } catch (error) {
      this.#ancestors.length = depth
      this.#path.length = steps
      this.#errorDepth = errorDepth
      return error instanceof Refusal ? `[${error.message}]` : '[unreadable]'
    }
  }

  /** The path of the value that `steps` steps lead to, such as `$.items[3]["unit price"]`. */
  #pathTo(steps: number): string {
    const written = this.#path.slice(0, steps).map((step, i) => stepIn(this.#ancestors[i], step))
    if (steps > 100) written.splice(40, steps - 80, ' … ')
    return '$' + written.join('')
  }
}

function stepIn(container: object | undefined, step: string | number): string {
  if (typeof step === 'string') {
    return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(step) ? `.${step}` : `[${quote(step)}]`
  }
  if (types.isSet(container)) return `.values()[${step}]`
  if (!types.isMap(container)) return `[${step}]`
  const position = Math.floor(step / 2)
  if (step % 2 === 0) return `.keys()[${position}]`
  const key: unknown = [...container.keys()][position]
  return typeof key === 'string' ? `.get(${quote(key)})` : `.values()[${position}]`
}

function quote(text: string): string {
  return JSON.stringify(text)
}

/** Whether this is the prototype of the built-in class itself, in whatever realm. */
function isBuiltIn(prototype: object, name: 'Object' | 'Array' | 'Map' | 'Set'): boolean {
  if (prototype === Object.prototype) return name === 'Object'
  const above: object | null = Object.getPrototypeOf(prototype)
  const isRoot = above === null
  if (isRoot !== (name === 'Object')) return false
  if (above !== null && Object.getPrototypeOf(above) !== null) return false
  return Object.hasOwn(prototype, 'constructor') && prototype.constructor?.name === name
}

function refusalOf(value: object, prototype: object): Refusal {
  if (types.isPromise(value)) return new Refusal('a Promise', '; did you forget await?')
  const name: unknown = prototype.constructor?.name
  const className = typeof name === 'string' && name !== '' ? name : 'a class without a name'
  if (types.isBoxedPrimitive(value)) return new Refusal(`a boxed ${className}`)
  return new Refusal(`an instance of ${className}`, '; convert it to plain data')
}

/** Reads the tagged form, in place. */
function unpack(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.charCodeAt(0) === BANG ? unpackTag(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth > MAX_DEPTH) throw damaged(`more than ${MAX_DEPTH} levels of nesting`)
  if (Array.isArray(value)) return unpackList(value, depth)
  const record = value as Record<string, unknown>
  for (const key of Object.keys(record)) {
    const member = record[key]
    const unpacked = unpack(member, depth + 1)
    // A key `__proto__` is an own property here, as the parser made it, so this sets no prototype.
    if (unpacked !== member) record[key] = unpacked
  }
  return record
}

function unpackList(list: unknown[], depth: number): unknown {
  const tag = list[0]
  if (tag === '!e') {
    const data = list[1]
    if (list.length !== 2 || typeof data !== 'object' || data === null) throw damaged('an error')
    return putTogether(data, (member) => unpack(member, depth + 1))
  }
  const isTagged = tag === '!m' || tag === '!s'
  for (let i = isTagged ? 1 : 0; i < list.length; i++) list[i] = unpack(list[i], depth + 1)
  if (!isTagged) return list
  if (tag === '!s') return new Set(list.slice(1))
  if (list.length % 2 === 0) throw damaged('a Map with a key that has no value')
  const map = new Map<unknown, unknown>()
  for (let i = 1; i < list.length; i += 2) map.set(list[i], list[i + 1])
  return map
}

function unpackTag(text: string): unknown {
  const rest = text.slice(2)
  switch (text.charAt(1)) {
    case '!':
      return text.slice(1)
    case 'u':
      if (rest === '') return undefined
      break
    case 'n':
      if (/^(?:NaN|-0|-?Infinity)$/.test(rest)) return Number(rest)
      break
    case 'i':
      if (/^-?\d+$/.test(rest)) return BigInt(rest)
      break
    case 'd': {
      const date = new Date(rest === '' ? Number.NaN : rest)
      if (rest === '' || !Number.isNaN(date.getTime())) return date
      break
    }
    case 'b': {
      // Copied, since a Buffer may share its memory with others. Base64 that is damaged is short.
      const bytes = new Uint8Array(Buffer.from(rest, 'base64'))
      if (Math.ceil(bytes.length / 3) * 4 === rest.length) return bytes
      break
    }
    default:
      throw new SyntaxError(
        `codec: unknown tag ${quote(text.slice(0, 20))}; was it written by a newer version?`,
      )
  }
  throw damaged(excerpt(text))
}

function excerpt(text: string): string {
  return quote(text.length > 40 ? `${text.slice(0, 40)}…` : text)
}

function damaged(what: string, cause?: unknown): SyntaxError {
  return new SyntaxError(`codec: cannot read ${what}`, cause === undefined ? {} : { cause })
}
