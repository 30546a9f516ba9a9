// Versions of workflows as rows: those of one workflow together, the newest first.

import type { WorkflowInfo } from '../../../../src/index.ts'

/** A version, and what the table says about it. */
export interface VersionRow extends WorkflowInfo {
  readonly inFlight: number
  /** The first of its workflow in the table. */
  readonly isFirst: boolean
  /**
   * `latest`: what new instances get. `draining`: another one that still has instances. `waiting`: its
   * instances have no version until a runtime takes them up. `unserved`: a newer one that no runtime has yet.
   * `only`: there is no other.
   */
  readonly role: 'latest' | 'draining' | 'unserved' | 'waiting' | 'idle' | 'only'
}

/** Sorts versions, and finds what becomes of each. */
export function versionRows(items: readonly WorkflowInfo[]): readonly VersionRow[] {
  const sorted = items.toSorted(
    (a, b) => a.name.localeCompare(b.name) || byVersion(b.version, a.version),
  )
  const latest = new Map<string, string>()
  for (const { name, version, servedBy } of sorted) {
    if (version !== '' && servedBy > 0 && !latest.has(name)) latest.set(name, version)
  }
  return sorted.map((item, i) => {
    const inFlight = item.scheduled + item.running + item.suspended
    const isFirst = sorted[i - 1]?.name !== item.name
    const isOnly = isFirst && sorted[i + 1]?.name !== item.name && item.version !== ''
    const role = isOnly ? 'only' : roleOf(item, inFlight, latest.get(item.name))
    return { ...item, inFlight, isFirst, role }
  })
}

function roleOf(
  { version, servedBy }: WorkflowInfo,
  inFlight: number,
  latest: string | undefined,
): VersionRow['role'] {
  if (version === '') return 'waiting'
  if (version === latest) return 'latest'
  if (inFlight === 0) return 'idle'
  const isNewer = latest === undefined || byVersion(version, latest) > 0
  return servedBy === 0 && isNewer ? 'unserved' : 'draining'
}

/** Semantic versions by their numbers, so that 1.10.0 comes after 1.9.0; those without one come first. */
export function byVersion(a: string, b: string): number {
  if (a === '' || b === '') return Number(a === '') - Number(b === '')
  return a.localeCompare(b, 'en', { numeric: true })
}
