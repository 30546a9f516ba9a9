// How much there is to do, in figures and task by task.

import { oneOf, option, resolveOptions } from '../../base/options.ts'
import type { TaskRow } from '../../store/admin-store.ts'
import type { Listing, Page, Stats, TaskFilter, TaskInfo } from '../define/admin.ts'
import { checkId } from '../define/names.ts'
import { resend } from '../core/resend.ts'
import type { ClientCore } from './client-core.ts'
import { taskPageOf, writeCursor } from './filters.ts'
import { readDepths } from './fleet.ts'
import { readError } from './readable.ts'

/** How many tasks one statement examines. */
const SCAN = 2_000

/** Returns how much there is to do. */
export async function stats(core: ClientCore): Promise<Stats> {
  const { clock, workflows, tasks, oldestDueAt, messages } = await readDepths(core)
  const since = (at: number | null): number => (at === null ? 0 : Math.max(0, clock - at))
  return {
    at: new Date(clock),
    instances: workflows.map(({ name, version, status, count }) => ({
      workflow: name,
      version,
      status,
      count,
    })),
    tasks: tasks.map(({ oldestAt, ...task }) => ({ ...task, oldestMs: since(oldestAt) })),
    oldestDueMs: since(oldestDueAt),
    messages,
    suspended: workflows.reduce(
      (sum, { status, count }) => sum + (status === 'suspended' ? count : 0),
      0,
    ),
  }
}

/** Returns the figures of `stats` as flat names with numbers. */
export async function metrics(core: ClientCore): Promise<Readonly<Record<string, number>>> {
  const { instances, tasks, oldestDueMs, messages } = await stats(core)
  const figures: Record<string, number> = {}
  const add = (name: string, value: number): void => {
    figures[name] = (figures[name] ?? 0) + value
  }
  for (const status of ['scheduled', 'running', 'suspended', 'failed', 'cancelled', 'terminated']) {
    add(`instances.${status}`, 0)
  }
  for (const { workflow, status, count } of instances) {
    add(`instances.${status}`, count)
    add(`instances.${status}.${workflow}`, count)
  }
  for (const state of ['waiting', 'delayed', 'running'] as const) {
    add(`tasks.${state}`, 0)
    for (const task of tasks) {
      add(`tasks.${state}`, task[state])
      add(`tasks.${state}.${task.activity}`, task[state])
    }
  }
  add('tasks.oldestMs', Math.max(0, ...tasks.map(({ oldestMs }) => oldestMs)))
  add('instances.oldestDueMs', oldestDueMs)
  add('messages.waiting', messages.waiting)
  add('messages.parked', messages.parked)
  return figures
}

const TASK_FILTER = {
  activity: option(checkId, null),
  tag: option((value: unknown, what: string) => (value === '' ? '' : checkId(value, what)), null),
  session: option(checkId, null),
  instanceId: option(checkId, null),
  state: option(
    (value: unknown, what: string) =>
      oneOf(['waiting', 'delayed', 'running'], 'waiting').check(value, what),
    null,
  ),
}

/** Lists tasks, by instance. */
export async function listTasks(
  core: ClientCore,
  filter: TaskFilter | undefined,
  page: Pick<Page, 'limit' | 'after'> | undefined,
): Promise<Listing<TaskInfo>> {
  const { instanceId, ...wanted } = resolveOptions('admin.tasks', filter, TASK_FILTER)
  const query = { ...wanted, instance: instanceId }
  const { limit, after } = taskPageOf('admin.tasks', page)
  await core.open()
  const { store, clock } = core.setup
  const rows: TaskRow[] = []
  let next = after === null ? null : { iid: after[0]!, execution: after[1]!, command: after[2]! }
  do {
    const from = { after: next, limit: limit - rows.length, scan: Math.max(limit + 1, SCAN) }
    const found = await resend(clock, () => store.admin.findTasks(query, from))
    rows.push(...found.tasks)
    next = found.next
  } while (next !== null && rows.length < limit)
  const now = await resend(clock, () => store.now())
  return {
    items: rows.map((row) => describeTask(core, row, now)),
    ...(next !== null && { next: writeCursor('tasks', [next.iid, next.execution, next.command]) }),
  }
}

function describeTask({ setup: { values } }: ClientCore, row: TaskRow, now: number): TaskInfo {
  const { owner, visibleAt } = row
  const isDelayed = owner === null && visibleAt !== null && visibleAt > now
  const error = row.error === null ? undefined : readError(values, row.error)
  return {
    instanceId: row.id,
    workflow: row.workflow,
    execution: row.execution,
    activity: row.activity,
    tag: row.tag,
    session: row.session,
    ...(row.sessionOf !== null && { sessionRuntime: row.sessionOf }),
    state: owner !== null ? 'running' : isDelayed ? 'delayed' : 'waiting',
    attempt: owner === null ? row.attempts + 1 : row.attempts,
    deaths: row.deaths,
    ...(owner !== null && { runtime: owner }),
    ...(row.ownedSince !== null && { since: new Date(row.ownedSince) }),
    ...(isDelayed && { nextAt: new Date(visibleAt) }),
    ...(error && { error: { name: error.name, message: error.message } }),
  }
}
