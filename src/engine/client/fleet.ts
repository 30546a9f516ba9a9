// Which runtimes there are, what they serve, and what waits for code that none of them has.

import type { Depths, Fleet, RuntimeRow } from '../../store/admin-store.ts'
import { NO_VERSION } from '../../store/instances.ts'
import type { RuntimeInfo, Unserved, WorkflowInfo } from '../define/admin.ts'
import { serves } from '../define/served-tags.ts'
import { resend } from '../core/resend.ts'
import type { ClientCore } from './client-core.ts'

/** Returns the runtimes that are registered or died lately. */
export async function runtimes(core: ClientCore): Promise<readonly RuntimeInfo[]> {
  const { clock, runtimes: rows } = await readFleet(core)
  return rows.map((row) => describeRuntime(row, clock))
}

function describeRuntime(row: RuntimeRow, now: number): RuntimeInfo {
  const [host = '', pid = '', version = ''] = row.info.split(' ')
  const tags = row.serves?.tags ?? []
  return {
    id: row.runtime,
    host,
    pid: Number(pid),
    version,
    state: row.state === 'alive' && row.leaseUntil <= now ? 'silent' : row.state,
    leaseUntil: new Date(row.leaseUntil),
    ...(row.registeredAt !== null && { startedAt: new Date(row.registeredAt) }),
    instances: row.instances,
    tasks: row.tasks,
    workflows: row.workflows.filter(({ version: one }) => one !== NO_VERSION),
    activities: [...new Set([...(row.serves?.activities ?? []), ...row.activities])].toSorted(),
    tags: tags === 'any' ? ['*'] : tags,
    untagged: row.serves?.untagged ?? true,
  }
}

/** Returns the versions of workflows that are served or have unfinished instances. */
export async function workflows(core: ClientCore): Promise<readonly WorkflowInfo[]> {
  const [fleet, depths] = await Promise.all([readFleet(core), readDepths(core)])
  return countWorkflows(depths, aliveOf(fleet))
}

function countWorkflows(depths: Depths, alive: readonly RuntimeRow[]): readonly WorkflowInfo[] {
  type Counted = { -readonly [K in keyof WorkflowInfo]: WorkflowInfo[K] }
  const byName = new Map<string, Counted>()
  const entry = (name: string, version: string): Counted => {
    const key = `${name} ${version}`
    const known = byName.get(key)
    if (known !== undefined) return known
    const fresh = { name, version, scheduled: 0, running: 0, suspended: 0, servedBy: 0 }
    byName.set(key, fresh)
    return fresh
  }
  for (const { workflows: served } of alive) {
    for (const { name, version } of served) {
      if (version !== NO_VERSION) entry(name, version).servedBy++
    }
  }
  for (const { name, version, status, count } of depths.workflows) {
    if (!isUnfinished(status)) continue
    entry(name, version)[status] += count
  }
  for (const one of byName.values()) {
    // Any version of it will do.
    if (one.version !== NO_VERSION) continue
    one.servedBy = alive.filter(({ workflows: served }) =>
      served.some(({ name }) => name === one.name),
    ).length
  }
  return [...byName.values()].toSorted(
    (a, b) => compare(a.name, b.name) || compare(a.version, b.version),
  )
}

/** Returns what waits for code that no live runtime has. */
export async function unserved(core: ClientCore): Promise<readonly Unserved[]> {
  const [fleet, depths] = await Promise.all([readFleet(core), readDepths(core)])
  const alive = aliveOf(fleet)
  return [...unservedWorkflows(depths, alive), ...unservedActivities(depths, alive)]
}

function unservedWorkflows(depths: Depths, alive: readonly RuntimeRow[]): readonly Unserved[] {
  const all = countWorkflows(depths, alive)
  return all
    .filter(({ servedBy, scheduled, running }) => servedBy === 0 && scheduled + running > 0)
    .map(({ name, version, scheduled, running }) => {
      const others = all.filter(
        (one) => one.name === name && one.version !== '' && one.servedBy > 0,
      )
      const versions = others.map((one) => `"${one.version}"`).join(', ')
      return {
        kind: 'workflow',
        name,
        version,
        tag: '',
        waiting: scheduled + running,
        reason:
          others.length > 0
            ? `no live runtime registers version "${version}" of workflow "${name}", only ${versions}`
            : `no live runtime registers workflow "${name}"`,
      }
    })
}

function unservedActivities(depths: Depths, alive: readonly RuntimeRow[]): readonly Unserved[] {
  return depths.tasks.flatMap(({ activity: name, tag, waiting, delayed }): Unserved[] => {
    const reason = reasonFor(name, tag, alive)
    if (waiting + delayed === 0 || reason === undefined) return []
    return [{ kind: 'activity', name, version: '', tag, waiting: waiting + delayed, reason }]
  })
}

/** Why no live runtime takes the tasks of an activity, if that is known. */
function reasonFor(name: string, tag: string, alive: readonly RuntimeRow[]): string | undefined {
  const able = alive.filter((row) => row.serves === null || serves(row.serves, tag))
  if (able.length === 0) {
    return tag === ''
      ? 'no live runtime runs activities without a tag'
      : `no live runtime serves tag "${tag}"`
  }
  const hasCode = (row: RuntimeRow): boolean =>
    row.serves === null || row.activities.includes(name) || row.serves.activities.includes(name)
  return able.some(hasCode)
    ? undefined
    : `no live runtime${tag === '' ? '' : ` that serves tag "${tag}"`} is known to have activity "${name}"`
}

function aliveOf({ clock, runtimes: rows }: Fleet): readonly RuntimeRow[] {
  return rows.filter(({ state, leaseUntil }) => state === 'alive' && leaseUntil > clock)
}

function isUnfinished(status: string): status is 'scheduled' | 'running' | 'suspended' {
  return status === 'scheduled' || status === 'running' || status === 'suspended'
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

async function readFleet(core: ClientCore): Promise<Fleet> {
  await core.open()
  const { store, clock } = core.setup
  return resend(clock, () => store.admin.fleet())
}

/** How much there is to do, as the store has it. */
export async function readDepths(core: ClientCore): Promise<Depths> {
  await core.open()
  const { store, clock } = core.setup
  return resend(clock, () => store.admin.depths())
}
