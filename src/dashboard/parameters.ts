// What requests ask for: the checks of their parameters, which are texts in the query of an address, and
// of the fields of their bodies.

import { describe } from '../base/describe.ts'
import { oneOf, type Option, option, resolveOptions, type Resolved } from '../base/options.ts'
import type { Filter, Page, Status } from '../index.ts'

/** A table of parameters, by name. */
export type Table = Readonly<Record<string, Option<unknown>>>

/** The parameters of an address, checked. A parameter that may be repeated is always a list. */
export function readQuery<T extends Table>(
  owner: string,
  query: URLSearchParams,
  table: T,
): Resolved<T> {
  const given = [...new Set(query.keys())].flatMap((name) => {
    const values = query.getAll(name).filter((value) => value !== '')
    return values.length === 0 ? [] : [[name, values.length === 1 ? values[0]! : values] as const]
  })
  // Not by assignment, which would take `__proto__` for something else than a name.
  return resolveOptions(owner, Object.fromEntries(given), table)
}

/** A text. */
export function text(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new TypeError(`${what} must be given once, as text, got ${describe(value)}`)
}

/** A text that has to be given. */
export const REQUIRED: Option<string> = {
  check: text,
  // Refused by the client, whatever it stands for: no id and no name is empty.
  fallback: '',
}

/** A text that may be left out. */
export const OPTIONAL = option(text, undefined)

/** A whole number, written in digits. */
export function integer(min: number, max: number, fallback: number): Option<number> {
  return { check: (value, what) => integerOf(value, what, min, max), fallback }
}

/** A whole number that may be left out. */
export function optionalInteger(
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): Option<number | undefined> {
  return option((value, what) => integerOf(value, what, min, max), undefined)
}

function integerOf(value: unknown, what: string, min: number, max: number): number {
  const given = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= min && given <= max) {
    return given
  }
  throw new RangeError(
    `${what} must be a whole number from ${min} to ${max}, got ${describe(value)}`,
  )
}

function date(value: unknown, what: string): Date {
  const found = new Date(text(value, what))
  if (!Number.isNaN(found.getTime())) return found
  throw new RangeError(
    `${what} must be a time such as 2026-11-18T06:30:00Z, got ${describe(value)}`,
  )
}

/** One text, or several. */
export function texts(value: unknown, what: string): readonly string[] {
  return Array.isArray(value) ? value.map((one) => text(one, what)) : [text(value, what)]
}

/** Labels, each written `name=value`. */
function labels(value: unknown, what: string): Readonly<Record<string, string>> {
  const found = new Map<string, string>()
  for (const pair of texts(value, what)) {
    const at = pair.indexOf('=')
    if (at <= 0) throw new TypeError(`${what} must be written name=value, got ${describe(pair)}`)
    const name = pair.slice(0, at)
    const wanted = pair.slice(at + 1)
    const before = found.get(name) ?? wanted
    if (before !== wanted) {
      throw new TypeError(
        `${what}: no instance has two values of one label, got ${describe(`${name}=${before}`)} and ${describe(pair)}`,
      )
    }
    found.set(name, wanted)
  }
  // Not by assignment, which would take `__proto__` for something else than a name.
  return Object.fromEntries(found)
}

const OPTIONAL_DATE = option(date, undefined)

/** Statuses of instances that have not ended. */
export const UNFINISHED: readonly Status[] = ['scheduled', 'running', 'suspended']
/** Statuses of instances that have ended. */
export const ENDED: readonly Status[] = ['completed', 'failed', 'cancelled', 'terminated']

const STATUS = oneOf<Status>([...UNFINISHED, ...ENDED], 'running')

/** Refuses what is no status, which would silently leave out or include what is not meant. */
function statuses(value: unknown, what: string): readonly Status[] {
  return texts(value, what).map((one) => STATUS.check(one, what))
}

/** Which instances. */
export const FILTER = {
  workflow: OPTIONAL,
  version: OPTIONAL,
  status: option(statuses, undefined),
  label: option(labels, undefined),
  createdAfter: OPTIONAL_DATE,
  createdBefore: OPTIONAL_DATE,
  finishedAfter: OPTIONAL_DATE,
  finishedBefore: OPTIONAL_DATE,
  parentId: OPTIONAL,
  idPrefix: OPTIONAL,
} satisfies Table

/** The filter that parameters mean. */
export function filterOf(given: Resolved<typeof FILTER>): Filter {
  const { workflow, version, status, label, parentId, idPrefix } = given
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = given
  return withoutGaps({
    workflow,
    version,
    status,
    labels: label,
    createdAfter,
    createdBefore,
    finishedAfter,
    finishedBefore,
    parentId,
    idPrefix,
  })
}

/** Which page of a list. */
export const PAGE = { limit: integer(1, 1_000, 100), after: OPTIONAL } satisfies Table

/** The page that parameters mean. */
export function pageOf({ limit, after }: Resolved<typeof PAGE>): Pick<Page, 'limit' | 'after'> {
  return withoutGaps({ limit, after })
}

/** An object without the fields that are `undefined`, as `exactOptionalPropertyTypes` wants it. */
export function withoutGaps<T extends object>(
  given: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
