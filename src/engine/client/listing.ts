// Lists and counts instances. A search examines a bounded number of rows at a time, so that a rare match
// among a million instances takes several short statements rather than a long one.

import type { InstanceQuery, SearchPage, SearchPosition } from '../../store/admin-store.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { Filter, Listing, Page } from '../define/admin.ts'
import type { InstanceInfo } from '../define/instance.ts'
import { resend } from '../core/resend.ts'
import type { ClientCore } from './client-core.ts'
import { describeRow } from './info.ts'
import { pageOf, queryOf, writeCursor } from './filters.ts'

/**
 * How many rows the first statement of a list examines, and how many at most the later ones, each of which
 * examines several times as many as the one before.
 */
const FIRST_SCAN = 500
const SCAN_GROWTH = 5
const MAX_SCAN = 50_000

/** How many a bulk call reads, and changes, at a time. */
export const BULK = 500

/** Returns a page of the instances that match. */
export async function list(
  core: ClientCore,
  filter: Filter | undefined,
  page: Page | undefined,
): Promise<Listing<InstanceInfo>> {
  const { limit, after, order } = pageOf('list', page)
  const query = { ...queryOf('list', filter), order }
  const { rows, next } = await pageFrom(core, query, after, limit)
  return {
    items: rows.map((row) => describeRow(core, row)),
    ...(next !== null && { next: writeCursor(order, [next.createdAt, next.iid]) }),
  }
}

/** Counts the instances that match. */
export async function count(core: ClientCore, filter: Filter | undefined): Promise<number> {
  const query = queryOf('count', filter)
  let total = 0
  let after: SearchPosition | null = null
  do {
    const { matched, next } = await search(core, query, { after, limit: 0, scan: MAX_SCAN })
    total += matched
    after = next
  } while (after !== null)
  return total
}

/** Yields all instances that match, some at a time. What is started meanwhile is not among them. */
export async function* pagesOf(
  core: ClientCore,
  query: InstanceQuery,
  limit = BULK,
): AsyncGenerator<readonly InstanceRow[], void, undefined> {
  let after: SearchPosition | null = null
  do {
    const { rows, next }: Rows = await pageFrom(core, query, after, limit)
    if (rows.length > 0) yield rows
    after = next
  } while (after !== null)
}

interface Rows {
  readonly rows: readonly InstanceRow[]
  readonly next: SearchPosition | null
}

/** As many instances as asked for, unless there are no more. */
async function pageFrom(
  core: ClientCore,
  query: InstanceQuery,
  from: SearchPosition | null,
  limit: number,
): Promise<Rows> {
  const { store, clock } = core.setup
  const rows: InstanceRow[] = []
  let after = from
  let scan = Math.max(limit + 1, FIRST_SCAN)
  do {
    const page = { after, limit: limit - rows.length, scan }
    const { iids, next } = await search(core, query, page)
    // One that was removed in between is left out.
    const found = iids.length === 0 ? [] : await resend(clock, () => store.look(iids))
    for (const row of found) if (row !== undefined) rows.push(row)
    after = next
    scan = Math.min(scan * SCAN_GROWTH, MAX_SCAN)
  } while (after !== null && rows.length < limit)
  return { rows, next: after }
}

async function search(core: ClientCore, query: InstanceQuery, page: SearchPage) {
  await core.open()
  const { store, clock } = core.setup
  return resend(clock, () => store.admin.search(query, page))
}
