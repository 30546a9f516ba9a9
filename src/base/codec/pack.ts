import { types } from 'node:util'

import { isPlainObject } from '../plain-object.ts'
import { type ErrorData, isError, MAX_MEMBER, takeApart, takeThrownApart } from './error-parts.ts'
import { Refusal, refusalOf, type Step, writePath } from './refusal.ts'

// The tagged form: JSON that says what JSON has no word for. A string that begins with `!` is a tag:
//
//   "!u"  undefined          "!nNaN"  number         "!i12"  bigint       "!!x"  the string "!x"
//   "!d…" Date, ISO or empty  "!b…"    bytes, base64
//   ["!m", key, value, …] Map   ["!s", value, …] Set   ["!e", ErrorData] error
//
// Since every string of the user that begins with `!` gets a second one, no data can be mistaken
// for a tag. Keys are never tags. This file writes the form, `unpack.ts` reads it.

/** Deepest nesting of a value that is written and read. */
export const MAX_DEPTH = 1000
/** The code of `!`. */
export const BANG = 33
const MAX_ERROR_DEPTH = 16
const MAX_NESTED_ERRORS = 100

/** Writes one value in the tagged form, keeping track of where it is. */
export class Packer {
  /** Whether anything was written that plain JSON has no word for. */
  isTagged = false
  /** The containers around the current value, and the step taken in each: a key or a position. */
  readonly #ancestors: object[] = []
  readonly #path: Step[] = []
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
      return takeThrownApart(thrown, orTooLong(this.#packOrDescribe([thrown], 0)))
    } catch {
      return { name: 'Error', message: 'the thrown value cannot be read' }
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
    if (isPlainObject(value)) return this.#packRecord(value)
    const prototype: object = Object.getPrototypeOf(value)
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
      else Object.defineProperty(packed, key, { value: member, enumerable: true, writable: true })
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
      throw new Refusal('too many nested errors')
    }
    const isNested = this.#errorDepth > 0
    this.#enter(error)
    this.#errorDepth += 1
    const pack = (key: string): unknown => {
      const packed = this.#packMember(error, key)
      if (packed === '!u') return undefined
      return isNested ? packed : orTooLong(packed)
    }
    const data = takeApart(error, pack, isNested)
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

  #packMember(from: object, step: Step): unknown {
    this.#path.push(step)
    const packed =
      this.#errorDepth > 0
        ? this.#packOrDescribe(from, step)
        : this.#pack((from as Record<Step, unknown>)[step])
    this.#path.pop()
    return packed
  }

  #packOrDescribe(from: object, step: Step): unknown {
    const [depth, steps, errorDepth] = [this.#ancestors.length, this.#path.length, this.#errorDepth]
    try {
      return this.#pack((from as Record<Step, unknown>)[step])
    } catch (error) {
      this.#ancestors.length = depth
      this.#path.length = steps
      this.#errorDepth = errorDepth
      return error instanceof Refusal ? `[${error.message}]` : '[unreadable]'
    }
  }

  /** The path of the value that this many steps lead to. */
  #pathTo(steps: number): string {
    return writePath(this.#path.slice(0, steps), this.#ancestors)
  }
}

/** The members of an error, or a note in their place: what is thrown must not outgrow the store. */
function orTooLong(packed: unknown): unknown {
  const length = lengthOf(packed)
  return length > MAX_MEMBER ? `[${length} characters of JSON, more than an error keeps]` : packed
}

function lengthOf(packed: unknown): number {
  try {
    return JSON.stringify(packed).length
  } catch {
    // Longer than any string can be.
    return Infinity
  }
}

/** Whether this is the prototype of the built-in class itself, in whatever realm. */
function isBuiltIn(prototype: object, name: 'Array' | 'Map' | 'Set'): boolean {
  const above: object | null = Object.getPrototypeOf(prototype)
  if (above === null || Object.getPrototypeOf(above) !== null) return false
  return Object.hasOwn(prototype, 'constructor') && prototype.constructor?.name === name
}
