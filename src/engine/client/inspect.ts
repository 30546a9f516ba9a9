// Reads one instance in detail: its tree, its executions, and what is stored for it.

import { oneOf, resolveOptions } from '../../base/options.ts'
import type { ExecutionInfo, InstanceUsage, TreeOptions } from '../define/admin.ts'
import type { InstanceInfo, Status } from '../define/instance.ts'
import { checkId } from '../define/names.ts'
import { resend } from '../core/resend.ts'
import { type ClientCore, hasEnded } from './client-core.ts'
import { describeRow } from './info.ts'
import { BULK } from './listing.ts'

const MAX_TREE = 10_000

/** Returns an instance and its descendants. */
export async function tree(
  core: ClientCore,
  id: string,
  given: TreeOptions | undefined,
): Promise<readonly InstanceInfo[]> {
  const { from } = resolveOptions('admin.tree', given, {
    from: oneOf(['instance', 'root'], 'instance'),
  })
  const { iid } = await core.existing('admin.tree', checkId(id, 'admin.tree: id'))
  const { store, clock } = core.setup
  const options = { fromRoot: from === 'root', limit: MAX_TREE + 1 }
  const iids = await resend(clock, () => store.admin.tree(iid, options))
  if (iids.length > MAX_TREE) {
    throw new RangeError(
      `admin.tree: the tree of instance "${id}" has more than ${MAX_TREE} members; page through ` +
        `its children with client.list({ parentId: ${JSON.stringify(id)} })`,
    )
  }
  const members: InstanceInfo[] = []
  for (let i = 0; i < iids.length; i += BULK) {
    const rows = await resend(clock, () => store.look(iids.slice(i, i + BULK)))
    for (const row of rows) if (row !== undefined) members.push(describeRow(core, row))
  }
  return members
}

/** Returns the executions of an instance that have a history. */
export async function executions(core: ClientCore, id: string): Promise<readonly ExecutionInfo[]> {
  const row = await core.existing('admin.executions', checkId(id, 'admin.executions: id'))
  const { store, clock } = core.setup
  const rows = await resend(clock, () => store.admin.executions(row.iid))
  return rows.map(({ execution, startedAt, lastTurnAt, turns, events, bytes }) => {
    const isCurrent = execution === row.execution
    return {
      execution,
      status: isCurrent ? (row.status as Status) : 'continued',
      startedAt: new Date(startedAt),
      ...((!isCurrent || hasEnded(row)) && { finishedAt: new Date(lastTurnAt) }),
      turns,
      events,
      historyBytes: bytes,
    }
  })
}

/** Returns how much is stored for an instance. */
export async function usage(core: ClientCore, id: string): Promise<InstanceUsage> {
  const { iid } = await core.existing('admin.usage', checkId(id, 'admin.usage: id'))
  const { store, clock } = core.setup
  const [stored, histories] = await resend(clock, () =>
    Promise.all([store.admin.usage(iid), store.admin.executions(iid)]),
  )
  return {
    executions: histories.length,
    events: histories.reduce((sum, { events }) => sum + events, 0),
    historyBytes: histories.reduce((sum, { bytes }) => sum + bytes, 0),
    ...stored,
  }
}
