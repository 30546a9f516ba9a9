// The filter of the list of instances, as it stands in the address of the page. The address can be
// shared and bookmarked, so a time is relative where the reader chose one that is: `since=1h`.

import type { FilterQuery } from '../../../../src/dashboard/api.ts'
import type { Status } from '../../../../src/index.ts'
import type { Query } from '../../api/http.ts'
import { STATUSES } from '../../ui/status.tsx'

export interface Filters {
  readonly workflow: string
  readonly version: string
  readonly statuses: readonly Status[]
  readonly labels: readonly string[]
  readonly idPrefix: string
  readonly parentId: string
  readonly since: Since
  readonly order: 'newest' | 'oldest'
  /** What the address asks for and the list cannot: `status=happy`. */
  readonly leftOut: readonly string[]
}

/** How far back. */
export type Since = '' | '15m' | '1h' | '24h' | '7d' | '30d'

export const SINCE: readonly {
  readonly value: Since
  readonly name: string
  readonly ms: number
}[] = [
  { value: '', name: 'Any time', ms: Infinity },
  { value: '15m', name: 'Last 15 minutes', ms: 900_000 },
  { value: '1h', name: 'Last hour', ms: 3_600_000 },
  { value: '24h', name: 'Last 24 hours', ms: 86_400_000 },
  { value: '7d', name: 'Last 7 days', ms: 604_800_000 },
  { value: '30d', name: 'Last 30 days', ms: 2_592_000_000 },
]

/** What the address may say of these. */
const KNOWN: Readonly<Record<string, (value: string) => boolean>> = {
  status: (value) => STATUSES.some((status) => status === value),
  label: (value) => value.indexOf('=') > 0,
  since: (value) => SINCE.some((one) => one.value === value),
  order: (value) => value === 'newest' || value === 'oldest',
}

/** Reads the query of an address. */
export function readFilters(query: URLSearchParams): Filters {
  const since = query.get('since') ?? ''
  const leftOut = [...query].filter(([name, value]) => KNOWN[name]?.(value) === false)
  return {
    workflow: query.get('workflow') ?? '',
    version: query.get('version') ?? '',
    statuses: STATUSES.filter((status) => query.getAll('status').includes(status)),
    labels: query.getAll('label').filter((label) => label.indexOf('=') > 0),
    idPrefix: query.get('id') ?? '',
    parentId: query.get('parent') ?? '',
    since: SINCE.find(({ value }) => value === since)?.value ?? '',
    order: query.get('order') === 'oldest' ? 'oldest' : 'newest',
    leftOut: leftOut.map(([name, value]) => `${name}=${value}`),
  }
}

/** Labels with another one, which takes the place of that with its name: an instance has one value of each. */
export function withLabel(labels: readonly string[], label: string): readonly string[] {
  const name = label.slice(0, label.indexOf('=') + 1)
  return [...labels.filter((one) => !one.startsWith(name)), label]
}

/** Writes it back; what matches everything is left out. */
export function writeFilters(filters: Filters): URLSearchParams {
  const query = new URLSearchParams()
  const put = (name: string, value: string): void => {
    if (value !== '') query.append(name, value)
  }
  put('workflow', filters.workflow)
  put('version', filters.version)
  for (const status of filters.statuses) put('status', status)
  for (const label of filters.labels) put('label', label)
  put('id', filters.idPrefix)
  put('parent', filters.parentId)
  put('since', filters.since)
  if (filters.order === 'oldest') put('order', 'oldest')
  return query
}

/** Whether it matches less than everything. */
export function isNarrow(filters: Filters): boolean {
  const query = writeFilters(filters)
  query.delete('order')
  return query.size > 0
}

/** For the API. The minute, not the moment: an address that changed all the time could not be watched. */
export function apiQuery(filters: Filters, now: number): Query {
  return {
    workflow: filters.workflow,
    version: filters.version,
    status: filters.statuses,
    label: filters.labels,
    idPrefix: filters.idPrefix,
    parentId: filters.parentId,
    createdAfter: createdAfter(filters, now),
  }
}

/** For a bulk call. */
export function apiFilter(filters: Filters, now: number): FilterQuery {
  const after = createdAfter(filters, now)
  return {
    ...(filters.workflow !== '' && { workflow: filters.workflow }),
    ...(filters.version !== '' && { version: filters.version }),
    ...(filters.statuses.length > 0 && { status: filters.statuses }),
    ...(filters.idPrefix !== '' && { idPrefix: filters.idPrefix }),
    ...(filters.parentId !== '' && { parentId: filters.parentId }),
    ...(filters.labels.length > 0 && { label: filters.labels }),
    ...(after !== undefined && { createdAfter: after }),
  }
}

function createdAfter({ since }: Filters, now: number): string | undefined {
  if (since === '') return undefined
  const { ms } = SINCE.find(({ value }) => value === since)!
  return new Date(Math.floor((now - ms) / 60_000) * 60_000).toISOString()
}
