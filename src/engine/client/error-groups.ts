// Groups instances by what went wrong. The store does not look into errors, which may be encrypted; so the
// latest ones are read, and grouped here.

import { createHash } from 'node:crypto'
import { number, resolveOptions } from '../../base/options.ts'
import type { InstanceRow } from '../../store/instances.ts'
import type { ErrorGroup, ErrorsOptions, Filter } from '../define/admin.ts'
import type { ClientCore } from './client-core.ts'
import { among, queryOf } from './filters.ts'
import { BULK, pagesOf } from './listing.ts'
import { readError } from './readable.ts'

/** Groups the latest failed and suspended instances by workflow and error. */
export async function errorGroups(
  core: ClientCore,
  filter: Filter | undefined,
  given: ErrorsOptions | undefined,
): Promise<readonly ErrorGroup[]> {
  const { limit } = resolveOptions('admin.errors', given, {
    limit: number({ min: 1, max: 100_000, integer: true }, 1_000),
  })
  const query = queryOf('admin.errors', filter)
  const groups = new Map<string, Group>()
  // Separately: each of them is found without looking at others.
  for (const status of ['failed', 'suspended'] as const) {
    let left = limit
    for await (const rows of pagesOf(core, among(query, [status]), Math.min(BULK, limit))) {
      for (const row of rows.slice(0, left)) addTo(groups, core, row)
      left -= rows.length
      if (left <= 0) break
    }
  }
  return [...groups.values()]
    .map(describeGroup)
    .toSorted((a, b) => b.count - a.count || b.lastAt.getTime() - a.lastAt.getTime())
}

interface Group {
  readonly fingerprint: string
  readonly workflow: string
  readonly name: string
  readonly members: Member[]
}

interface Member {
  readonly id: string
  readonly at: number
  readonly message: string
  readonly isSuspended: boolean
}

function addTo(groups: Map<string, Group>, core: ClientCore, row: InstanceRow): void {
  const encoded = row.output ?? row.report
  if (encoded === null) return
  const error: Error & { readonly originalName?: unknown } = readError(core.setup.values, encoded)
  const { message, originalName } = error
  const workflow = row.workflow.name
  // What the workflow threw, rather than that it failed.
  const name = typeof originalName === 'string' ? originalName : error.name
  const fingerprint = fingerprintOf(workflow, name, message)
  const group = groups.get(fingerprint) ?? { fingerprint, workflow, name, members: [] }
  groups.set(fingerprint, group)
  const { id, finishedAt, updatedAt, status } = row
  group.members.push({
    id,
    at: finishedAt ?? updatedAt,
    message,
    isSuspended: status === 'suspended',
  })
}

function describeGroup({ members, ...group }: Group): ErrorGroup {
  const latestFirst = members.toSorted((a, b) => b.at - a.at)
  const latest = latestFirst[0]!
  return {
    ...group,
    message: latest.message,
    count: members.length,
    firstAt: new Date(latestFirst.at(-1)!.at),
    lastAt: new Date(latest.at),
    latestId: latest.id,
    suspended: members.filter(({ isSuspended }) => isSuspended).length,
    ids: latestFirst.map(({ id }) => id),
  }
}

function fingerprintOf(workflow: string, name: string, message: string): string {
  const text = JSON.stringify([workflow, name, withoutDetails(message)])
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** What messages of the same kind have in common: the texts, numbers and ids in them differ. */
export function withoutDetails(message: string): string {
  return message
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '"…"')
    .replace(/[^\s@<>()]{1,64}@[^\s@<>()]{1,255}\.[a-z]+/gi, '#')
    .replace(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '#')
    .replace(/\b(?=[\w-]*\d)[\w-]+\b/g, '#')
    .replace(/\s+/g, ' ')
    .trim()
}
