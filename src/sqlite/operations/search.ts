import type { Found, InstanceQuery, SearchPage } from '../../store/admin-store.ts'
import type { Iid } from '../../store/instances.ts'
import type { Transaction } from '../file/database.ts'
import type { Bound } from './search-filter.ts'
import { type Source, sourceOf } from './search-source.ts'

// Goes through the source that restricts a query most. It consists of parts that are ordered by age, such as
// the workflows. No part is followed beyond its share of the rows that may be examined; the nearest place
// at which one was left is the horizon of all.

/** A row that matches, or a place in the order. */
interface Place {
  readonly iid: Iid
  readonly at: number
}

/**
 * How many rows are examined at once, so that no other call waits long for the file; the caller asks again
 * for the rest. Without a filter only an index is read.
 */
const MAX_EXAMINED = 2_000
const MAX_COUNTED = 50_000

/** Finds instances. */
export function search(tx: Transaction, query: InstanceQuery, page: SearchPage): Found {
  const source = sourceOf(tx, query)
  if (source === undefined) return { iids: [], matched: 0, next: null }
  const all = rangeOf(query, page)
  const horizon = horizonOf(tx, source, query, within(source, query, all), page)
  const range = within(source, query, { ...all, until: horizon ?? all.until })
  const next = horizon === undefined ? null : { createdAt: horizon.at, iid: horizon.iid }
  if (page.limit === 0) return { iids: [], matched: countOf(tx, source, range), next }
  const found = placesOf(tx, source, query, range, page.limit + 1)
  const places = found.slice(0, page.limit)
  const last = places.at(-1)
  return {
    iids: places.map(({ iid }) => iid),
    matched: places.length,
    next:
      found.length > places.length && last !== undefined
        ? { createdAt: last.at, iid: last.iid }
        : next,
  }
}

/** Which part of an order is looked at. */
interface Range {
  /** What comes behind this place. */
  readonly after: Place
  /** Up to this place, including it. */
  readonly until: Place
}

function rangeOf(query: InstanceQuery, { after }: SearchPage): Range {
  // What ended before a time was created before it.
  const before = Math.min(
    query.createdUntil ?? Number.MAX_SAFE_INTEGER,
    query.finishedUntil ?? Number.MAX_SAFE_INTEGER,
  )
  // No instance has these numbers.
  const from: Place = { at: query.createdFrom ?? 0, iid: -1 }
  const end: Place = { at: before, iid: -1 }
  const [first, until] = query.order === 'newest' ? [end, from] : [from, end]
  if (after === null) return { after: first, until }
  const given: Place = { at: after.createdAt, iid: after.iid }
  return { after: comparing(query)(given, first) > 0 ? given : first, until }
}

/**
 * The conditions on the age. One from above and one from below: of several, SQLite would look for only one
 * in the index, and not always for the narrowest.
 */
function within({ name }: Source, { order }: InstanceQuery, { after, until }: Range): Bound {
  const [behind, upTo] = order === 'newest' ? ['<', '>='] : ['>', '<=']
  const place = `(${name}.created_at, ${name}.iid)`
  return {
    sql: ` and ${place} ${behind} (?, ?) and ${place} ${upTo} (?, ?)`,
    values: [after.at, after.iid, until.at, until.iid],
  }
}

function ordered({ name }: Source, { order }: InstanceQuery): string {
  const direction = order === 'newest' ? 'desc' : 'asc'
  return `order by ${name}.created_at ${direction}, ${name}.iid ${direction}`
}

/** How far a search goes; `undefined` for to the end. */
function horizonOf(
  tx: Transaction,
  source: Source,
  query: InstanceQuery,
  range: Bound,
  { limit, scan }: SearchPage,
): Place | undefined {
  const { name, parts, filter, isFew } = source
  const isPlain = filter.sql === ''
  // Without a filter, no more are read than are returned.
  if (isFew || (isPlain && limit > 0)) return undefined
  const rows = Math.min(scan, isPlain ? MAX_COUNTED : MAX_EXAMINED)
  const share = Math.max(1, Math.floor(rows / parts.length))
  const sql = `
select ${name}.iid as iid, ${name}.created_at as at from ${source.table}
where ${source.condition}${range.sql}
${ordered(source, query)}
limit 1 offset ?`
  const statement = tx.sql(sql)
  const ends = parts.flatMap((part) => {
    const row = statement.get(...part, ...range.values, share - 1) as Place | undefined
    return row ?? []
  })
  return ends.toSorted(comparing(query))[0]
}

function comparing({ order }: InstanceQuery): (a: Place, b: Place) => number {
  const sign = order === 'newest' ? -1 : 1
  return (a, b) => sign * (a.at - b.at || a.iid - b.iid)
}

function countOf(tx: Transaction, source: Source, range: Bound): number {
  const { rows, condition, filter } = source
  const sql = `
select count(*) as count from ${rows}
where ${condition}${range.sql}${filter.sql}`
  const statement = tx.sql(sql)
  const counts = source.parts.map((part) => {
    const row = statement.get(...part, ...range.values, ...filter.values) as { count: number }
    return row.count
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The first rows of all parts that match. */
function placesOf(
  tx: Transaction,
  source: Source,
  query: InstanceQuery,
  range: Bound,
  limit: number,
): readonly Place[] {
  const { name, rows, condition, filter } = source
  const sql = `
select ${name}.iid as iid, ${name}.created_at as at from ${rows}
where ${condition}${range.sql}${filter.sql}
${ordered(source, query)}
limit ?`
  const statement = tx.sql(sql)
  const found = source.parts.flatMap((part) => {
    const values = [...part, ...range.values, ...filter.values, limit]
    return statement.all(...values) as unknown as Place[]
  })
  return found.toSorted(comparing(query)).slice(0, limit)
}
