// The store as a whole: figures, workflows, tasks, runtimes, and its health.

import { oneOf, option } from '../base/options.ts'
import type { Client, RuntimeHealth, TaskInfo } from '../index.ts'
import type {
  ApiFinding,
  DoctorAnswer,
  MetricsAnswer,
  OverviewAnswer,
  RuntimesAnswer,
  TasksAnswer,
  WorkflowsAnswer,
} from './api.ts'
import { Failure } from './failure.ts'
import { plain } from './instance.ts'
import { OPTIONAL, PAGE, pageOf, integer, withoutGaps } from './parameters.ts'
import { recentOf } from './recent.ts'
import { read, type ReadRoute, type Sources } from './route.ts'

/** The most that a page of instances has. */
const SAMPLE = 1_000
const MINUTE_MS = 60_000
const TASK_STATES = ['waiting', 'delayed', 'running'] as const satisfies TaskInfo['state'][]

/** Reads of the store as a whole. */
export const FLEET: Readonly<Record<string, ReadRoute>> = {
  meta: read({}, async ({ meta, clock }) => ({ ...meta, at: clock.date().toISOString() })),
  overview: read(
    { minutes: integer(1, 7 * 24 * 60, 60) },
    async (sources, { minutes }): Promise<OverviewAnswer> => {
      const { admin } = sources.client
      const stats = await admin.stats()
      const [runtimes, unserved, recent, outbox] = await Promise.all([
        admin.runtimes(),
        admin.unserved(),
        latest(sources.client, stats.at.getTime(), minutes * MINUTE_MS),
        outboxTotals(sources),
      ])
      const count = (wanted: string): number =>
        runtimes.filter(({ state }) => state === wanted).length
      return {
        stats: plain(stats),
        runtimes: { alive: count('alive'), silent: count('silent'), dead: count('dead') },
        unserved,
        recent,
        ...(outbox !== undefined && { outbox }),
      }
    },
    3_000,
  ),
  metrics: read({}, async ({ client }): Promise<MetricsAnswer> => ({
    metrics: await client.admin.metrics(),
  })),
  doctor: read(
    {},
    async ({ clock, doctor }): Promise<DoctorAnswer> => {
      if (doctor === undefined) {
        const hint = 'give it the option doctor, or use `holdfast dashboard`'
        throw new Failure('not_found', `this dashboard cannot examine its store: ${hint}`)
      }
      return { at: clock.date().toISOString(), findings: worstFirst(await doctor()) }
    },
    60_000,
  ),
  workflows: read(
    {},
    async ({ client }): Promise<WorkflowsAnswer> => {
      const [items, unserved] = await Promise.all([
        client.admin.workflows(),
        client.admin.unserved(),
      ])
      return { items, unserved }
    },
    3_000,
  ),
  tasks: read(
    {
      ...PAGE,
      activity: OPTIONAL,
      tag: OPTIONAL,
      session: OPTIONAL,
      instanceId: OPTIONAL,
      state: option(oneOf(TASK_STATES, 'waiting').check, undefined),
    },
    async ({ client }, given): Promise<TasksAnswer> => {
      const { activity, tag, session, instanceId, state } = given
      const filter = withoutGaps({ activity, tag, session, instanceId, state })
      const [{ items, next }, stats] = await Promise.all([
        client.admin.tasks(filter, pageOf(given)),
        client.admin.stats(),
      ])
      return { items: plain(items), totals: stats.tasks, ...(next !== undefined && { next }) }
    },
    2_000,
  ),
  runtimes: read(
    {},
    async ({ client }): Promise<RuntimesAnswer> => {
      const items = await client.admin.runtimes()
      const health = healthOf(client)
      return {
        items: plain(items),
        ...(health !== undefined && {
          here: { pid: process.pid, workers: plain(health.workers), hints: plain(health.hints) },
        }),
      }
    },
    3_000,
  ),
}

/** The latest instances, as many as one page has. */
async function latest(client: Client, until: number, ms: number) {
  const wanted = until - ms
  const { items, next } = await client.list({ createdAfter: new Date(wanted) }, { limit: SAMPLE })
  // If there are more, those of the page are all that were created since the oldest of them.
  const oldest = items.at(-1)?.createdAt.getTime()
  const since = next === undefined || oldest === undefined ? wanted : oldest
  return recentOf(items, { since, until })
}

async function outboxTotals({ outbox }: Sources) {
  if (outbox === undefined) return undefined
  const [partitions, dead] = await Promise.all([
    outbox.stats({ all: true }),
    outbox.deadLetters.count(),
  ])
  return {
    depth: partitions.reduce((sum, { depth }) => sum + depth, 0),
    lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
    oldestMs: partitions.reduce((max, { oldestMs }) => Math.max(max, oldestMs), 0),
    dead,
  }
}

/** The health of the process itself, if its client is a runtime. */
function healthOf(client: Client): RuntimeHealth | undefined {
  const { health } = client as { health?: () => RuntimeHealth }
  return health?.call(client)
}

const ORDER: readonly ApiFinding['level'][] = ['error', 'warning', 'note', 'ok']

function worstFirst(findings: readonly ApiFinding[]): readonly ApiFinding[] {
  return findings.toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level))
}
