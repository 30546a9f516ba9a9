// Turns values of users into JSON for the pages, as much of them as was asked for.

import { describe } from '../base/describe.ts'
import { isPlainObject } from '../base/plain-object.ts'
import type { Detail, More, Shown, Value } from './api.ts'

interface Bounds {
  /** Characters of a text, bytes of a buffer, items of a list, nesting, and values in all. */
  readonly text: number
  readonly bytes: number
  readonly items: number
  readonly depth: number
  readonly values: number
}

const BOUNDS: Readonly<Record<Exclude<Detail, 'none'>, Bounds>> = {
  short: { text: 200, bytes: 32, items: 10, depth: 4, values: 50 },
  long: { text: 4_000, bytes: 1_024, items: 200, depth: 16, values: 2_000 },
  // As deep as values can be stored.
  full: { text: Infinity, bytes: Infinity, items: Infinity, depth: 1_000, values: Infinity },
}

/** A value as JSON, up to the bounds of a detail. */
export function show(value: unknown, detail: Exclude<Detail, 'none'>): Value {
  const shower = new Shower(BOUNDS[detail])
  const shown = shower.show(value, 0)
  return { shown, truncated: shower.isTruncated }
}

class Shower {
  isTruncated = false
  readonly #bounds: Bounds
  #values = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  show(value: unknown, depth: number): Shown {
    this.#values++
    switch (typeof value) {
      case 'string':
        return this.#text(value)
      case 'boolean':
        return value
      case 'number':
        if (Number.isFinite(value) && !Object.is(value, -0)) return value
        return { $: 'number', v: Object.is(value, -0) ? '-0' : String(value) }
      case 'bigint':
        return { $: 'bigint', v: String(value) }
      case 'undefined':
        return { $: 'undefined' }
      case 'object':
        return value === null ? null : this.#object(value, depth)
      case 'function':
      case 'symbol':
        return { $: 'other', v: describe(value) }
    }
  }

  #text(text: string): Shown {
    const { text: max } = this.#bounds
    if (text.length <= max) return text
    this.isTruncated = true
    return { $: 'text', v: text.slice(0, max).replace(HALF_PAIR, ''), length: text.length }
  }

  #object(value: object, depth: number): Shown {
    if (value instanceof Date) {
      return { $: 'date', v: Number.isNaN(value.getTime()) ? '' : value.toISOString() }
    }
    if (ArrayBuffer.isView(value)) return this.#bytes(value)
    if (depth >= this.#bounds.depth) return this.#more(sizeOf(value))
    if (Array.isArray(value)) {
      // Not map(), which passes over holes.
      return this.#each(Array.from(value as unknown[]), (item) => this.show(item, depth + 1))
    }
    if (value instanceof Set) {
      return { $: 'set', v: this.#each([...value], (item) => this.show(item, depth + 1)) }
    }
    if (value instanceof Map) {
      const pair = ([key, item]: [unknown, unknown]): readonly [Shown, Shown] => [
        this.show(key, depth + 1),
        this.show(item, depth + 1),
      ]
      return { $: 'map', v: this.#each([...value] as [unknown, unknown][], pair) }
    }
    if (value instanceof Error) {
      const { name, message, stack, cause } = value
      const own = {
        ...Object.fromEntries(Object.entries(value)),
        ...(stack !== undefined && { stack }),
        ...(cause !== undefined && { cause }),
      }
      const shown = this.#fields(Object.entries(own), depth)
      return {
        $: 'error',
        name: textIn(this.#text(name)),
        message: textIn(this.#text(message)),
        v: shown,
      }
    }
    if (!isPlainObject(value) && Object.keys(value).length === 0) {
      return { $: 'other', v: describe(value) }
    }
    return this.#fields(Object.entries(value), depth)
  }

  #fields(entries: readonly [string, unknown][], depth: number): Shown {
    const shown = this.#each(entries, ([key, item]) => [key, this.show(item, depth + 1)] as const)
    const pairs = shown.filter((pair) => isPair(pair))
    // An object of the user that looks like a tag, or has a key that JavaScript treats differently.
    const isPlain = pairs.every(([key]) => key !== '$' && key !== '__proto__')
    if (isPlain && pairs.length === entries.length) return Object.fromEntries(pairs)
    return { $: 'object', v: shown }
  }

  /** Each of the first items, and in place of the others how many they are. */
  #each<T, S>(items: readonly T[], one: (item: T) => S): (S | More)[] {
    const shown: (S | More)[] = []
    for (const item of items) {
      if (shown.length >= this.#bounds.items || this.#values >= this.#bounds.values) {
        shown.push(this.#more(items.length - shown.length))
        break
      }
      shown.push(one(item))
    }
    return shown
  }

  #more(count: number): More {
    this.isTruncated = true
    return { $: 'more', count }
  }

  #bytes(view: ArrayBufferView): Shown {
    const { byteLength: length, byteOffset } = view
    const kept = Math.min(length, this.#bounds.bytes)
    if (kept < length) this.isTruncated = true
    return { $: 'bytes', v: Buffer.from(view.buffer, byteOffset, kept).toString('base64'), length }
  }
}

/** The first half of a character that takes two. */
const HALF_PAIR = /[\ud800-\udbff]$/

function isPair<T>(item: T | More): item is T {
  return Array.isArray(item)
}

function textIn(shown: Shown): string {
  return typeof shown === 'string' ? shown : String((shown as { readonly v: unknown }).v)
}

function sizeOf(value: object): number {
  if (Array.isArray(value)) return value.length
  if (value instanceof Map || value instanceof Set) return value.size
  return Object.keys(value).length
}
