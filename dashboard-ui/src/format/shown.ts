// Values of users as text. What JSON has no form for arrives as an object with the key `$`.

import type { More, Shown, ShownTag } from '../../../src/dashboard/api.ts'

/** Whether a value is one of those that JSON has no form for. */
export function isTag(value: Shown): value is ShownTag {
  return typeof value === 'object' && value !== null && '$' in value
}

/** One line, cut where it gets long. */
export function preview(value: Shown | undefined, most = 120): string {
  const text = value === undefined ? '' : inline(value, most)
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

function inline(value: Shown, room: number): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  if (isTag(value)) return inlineTag(value, room)
  if (Array.isArray(value)) return `[${list(value as readonly Shown[], room)}]`
  const fields = Object.entries(value as Record<string, Shown>)
  return fields.length === 0 ? '{}' : `{ ${entries(fields, room)} }`
}

function list(items: readonly Shown[], room: number): string {
  return joined(items, room, (item, left) => inline(item, left))
}

function entries(fields: readonly (readonly [string, Shown] | More)[], room: number): string {
  return joined(fields, room, (field, left) =>
    isMore(field) ? inlineTag(field, left) : `${plainKey(field[0])}: ${inline(field[1], left)}`,
  )
}

/** Whether it stands in place of entries that were left out. */
export function isMore(entry: readonly unknown[] | More): entry is More {
  return '$' in entry
}

/** Stops as soon as there is more than enough: a value may have many thousand items. */
function joined<T>(
  items: readonly T[],
  room: number,
  text: (item: T, room: number) => string,
): string {
  let all = ''
  for (const item of items) {
    if (all.length > room) return `${all}, …`
    all += `${all === '' ? '' : ', '}${text(item, room - all.length)}`
  }
  return all
}

/** A key as JavaScript writes it. */
export function plainKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key)
}

function inlineTag(tag: ShownTag, room: number): string {
  switch (tag.$) {
    case 'undefined':
      return 'undefined'
    case 'date':
    case 'number':
    case 'other':
      return tag.v
    case 'bigint':
      return `${tag.v}n`
    case 'bytes':
      return `${tag.length} bytes`
    case 'set':
      return `Set { ${list(tag.v, room)} }`
    case 'map':
      return `Map { ${joined(tag.v, room, (entry, left) => (isMore(entry) ? inlineTag(entry, left) : `${inline(entry[0], left)} => ${inline(entry[1], left)}`))} }`
    case 'error':
      return `${tag.name}: ${tag.message}`
    case 'object':
      return `{ ${entries(tag.v, room)} }`
    case 'text':
      return `${JSON.stringify(tag.v)}…`
    case 'more':
      return `… ${tag.count} more`
  }
}

/** The value without its tags where a plain one says the same, for code that reads fields. */
export function untagged(value: Shown | undefined): unknown {
  if (value === undefined || value === null || typeof value !== 'object' || !isTag(value))
    return value
  if (value.$ === 'undefined') return undefined
  if (value.$ === 'date' || value.$ === 'text') return value.v
  return value
}

/** The fields of an object, whatever its keys are. */
export function fieldsOf(value: Shown | undefined): Readonly<Record<string, Shown>> {
  if (value === undefined || value === null || typeof value !== 'object') return {}
  if (Array.isArray(value)) return {}
  if (!isTag(value)) return value as Readonly<Record<string, Shown>>
  return value.$ === 'object'
    ? Object.fromEntries(value.v.flatMap((field) => (isMore(field) ? [] : [field])))
    : {}
}
