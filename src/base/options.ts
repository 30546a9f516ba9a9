import { describe } from './describe.ts'
import { isPlainObject } from './plain-object.ts'

// Options are resolved once, at the public edge, into a complete value. A table names each option
// with its check and its default, so that one place shows which options exist, what they accept and
// what their default is.

/** One option: how a given value is checked, and its default. */
export interface Option<T> {
  /** Returns the value to use; throws an error that begins with `what` when it is not allowed. */
  readonly check: (value: unknown, what: string) => T
  readonly fallback: T
}

/** The values that a table of options resolves to. */
export type Resolved<Table> = {
  readonly [K in keyof Table]: Table[K] extends Option<infer T> ? T : never
}

/**
 * Checks `given` against a table of options and fills in what is missing.
 *
 * Unknown names are refused with a guess at what was meant. An option that is present but
 * `undefined` counts as left out. The given object is never changed.
 */
export function resolveOptions<Table extends Record<string, Option<unknown>>>(
  owner: string,
  given: object | undefined,
  table: Table,
): Resolved<Table> {
  if (given !== undefined && !isOptions(given)) {
    throw new TypeError(`${owner}: options must be a plain object, got ${describe(given)}`)
  }
  const values = (given ?? {}) as Record<string, unknown>
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(table, name)) throw unknownName(owner, 'option', name, Object.keys(table))
  }
  const resolved: Record<string, unknown> = {}
  for (const [name, known] of Object.entries(table)) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    resolved[name] = value === undefined ? known.fallback : known.check(value, `${owner}: ${name}`)
  }
  return resolved as Resolved<Table>
}

/** A plain object, or one that inherits from another: options that are only inherited are left out. */
function isOptions(value: unknown): boolean {
  if (isPlainObject(value)) return true
  if (typeof value !== 'object' || value === null) return false
  const prototype: object = Object.getPrototypeOf(value)
  return !Object.hasOwn(prototype, 'constructor') && isOptions(prototype)
}

/** A number within limits. Infinity is one only where it is given as a limit. */
export function number(
  limits: { min?: number; max?: number; integer?: boolean },
  fallback: number,
): Option<number> {
  const { min = -Number.MAX_VALUE, max = Number.MAX_VALUE, integer = false } = limits
  const range = rangeText(limits)
  return {
    fallback,
    check(value, what) {
      if (typeof value === 'number' && value >= min && value <= max) {
        if (!integer || Number.isSafeInteger(value) || value === limits.max) return value
      }
      const isInfinite = value === Infinity || value === -Infinity
      const kind = integer ? 'a whole number' : isInfinite ? 'a finite number' : 'a number'
      throw new RangeError(`${what} must be ${kind}${range}, got ${describe(value)}`)
    },
  }
}

function rangeText({ min = -Infinity, max = Infinity }: { min?: number; max?: number }): string {
  if (min === -Infinity) return max === Infinity ? '' : `, at most ${max}`
  return max === Infinity ? `, ${min} or more` : `, from ${min} to ${max}`
}

/** One of a few words. */
export function oneOf<const W extends string>(words: readonly W[], fallback: W): Option<W> {
  return {
    fallback,
    check(value, what) {
      const word = words.find((known) => known === value)
      if (word !== undefined) return word
      const choice = words.map((known) => `'${known}'`).join(', ')
      throw new RangeError(`${what} must be one of ${choice}, got ${describe(value)}`)
    },
  }
}

/** True or false. */
export function flag(fallback: boolean): Option<boolean> {
  return {
    fallback,
    check(value, what) {
      if (typeof value === 'boolean') return value
      throw new TypeError(`${what} must be true or false, got ${describe(value)}`)
    },
  }
}

/** A list whose items pass a check. */
export function list<T>(item: (value: unknown, what: string) => T): Option<readonly T[]> {
  return {
    fallback: [],
    check(value, what) {
      if (!Array.isArray(value))
        throw new TypeError(`${what} must be a list, got ${describe(value)}`)
      // Not map(), which passes over holes.
      return Array.from(value, (entry: unknown, i) => item(entry, `${what}[${i}]`))
    },
  }
}

/** An object that has certain methods: a logger, a clock, a signal. `kind` names it in the error. */
export function having<T extends object>(
  kind: string,
  methods: readonly (keyof T & string)[],
): (value: unknown, what: string) => T {
  return (value, what) => {
    if (typeof value !== 'object' || value === null) {
      throw new TypeError(`${what} must be ${kind}, got ${describe(value)}`)
    }
    for (const method of methods) {
      if (typeof (value as Record<string, unknown>)[method] !== 'function') {
        throw new TypeError(`${what} must be ${kind}, but it has no method ${method}()`)
      }
    }
    return value as T
  }
}

/** An option with any check of your own. */
export function option<T, F>(
  check: (value: unknown, what: string) => T,
  fallback: F,
): Option<T | F> {
  return { check, fallback }
}

/** The error for an unknown name: says what was probably meant. */
export function unknownName(
  owner: string,
  kind: string,
  name: string,
  known: readonly string[],
): TypeError {
  const guess = synonym(name, known) ?? closest(name, known)
  const hint =
    guess === undefined
      ? `; the known ${kind}s are ${known.join(', ')}`
      : `, did you mean "${guess}"?`
  return new TypeError(`${owner}: unknown ${kind} "${name}"${hint}`)
}

/** What other libraries call our options, in lower case. */
const SYNONYMS: Readonly<Record<string, string>> = {
  maxretries: 'maxAttempts',
  attempts: 'maxAttempts',
  retries: 'retry',
  logger: 'log',
  workflows: 'register',
  activities: 'register',
  workflowid: 'id',
  instanceid: 'id',
  connectionstring: 'url',
}

function synonym(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase()
  const meant = Object.hasOwn(SYNONYMS, lower) ? SYNONYMS[lower] : undefined
  return meant !== undefined && known.includes(meant) ? meant : undefined
}

function closest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const meant = candidate.toLowerCase()
    const distance = Math.min(
      ...formsOf(name.toLowerCase()).map((form) => editDistance(form, meant)),
    )
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** A name, and what it would be in the singular: `retries` is `retry` to others. */
function formsOf(name: string): readonly string[] {
  const singular = name.replace(/ies$/, 'y').replace(/s$/, '')
  return [name, singular]
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
