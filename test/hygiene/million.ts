// Many ended instances, and what it takes to list, filter, count, prune and delete them while other
// workflows run: for `npm run million`, and for a test with fewer.

import Sqlite from 'better-sqlite3'
import { Client as PgClient } from 'pg'
import { quantile } from '../../bench/figures.ts'
import { dashboard } from '../../src/dashboard/index.ts'
import { type Client, open, type Runtime, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/store.ts'

/** Where the instances are. */
export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

/** What a call did, and how long it took. */
export interface Measured {
  readonly call: string
  readonly answer: number
  readonly ms: number
}

/** All calls, and how long small workflows took before them and beside each kind of them. */
export interface Report {
  readonly calls: readonly Measured[]
  readonly latencies: Readonly<Record<'alone' | Kind, Latencies>>
}

/** What goes on beside the small workflows. */
export type Kind = 'lists and counts' | 'prune' | 'delete'

/** Of small workflows, in milliseconds. */
export interface Latencies {
  readonly count: number
  readonly median: number
  readonly p99: number
  readonly max: number
}

export const order = workflow('order', async (n: number) => n)
const rare = workflow('rare', async (n: number) => n)

/** Opens a store and fills it with `count` ended instances. */
export async function openMillion(place: Place, count: number): Promise<Runtime> {
  const store =
    place.kind === 'sqlite'
      ? `file:${place.path}`
      : postgres({ url: place.url, schema: place.schema })
  const runtime = await open(store, { register: [order, rare], log: QUIET })
  await fill(place, count)
  return runtime
}

/** Runs all calls on `count` ended instances. `alone` is how many small workflows run first. */
export async function runMillion(place: Place, count: number, alone = 200): Promise<Report> {
  await using runtime = await openMillion(place, count)
  const latencies: Partial<Record<'alone' | Kind, Latencies>> = {
    alone: await latenciesOf(runtime, alone),
  }
  const calls: Measured[] = []
  const beside = async (kind: Kind, work: () => Promise<void>): Promise<void> => {
    const stop = new AbortController()
    const measured = latenciesUntil(runtime, stop.signal)
    try {
      await work()
    } finally {
      stop.abort()
    }
    latencies[kind] = await measured
  }
  const measure = async (call: string, work: () => Promise<number>): Promise<void> => {
    const from = performance.now()
    const answer = await work()
    calls.push({ call, answer, ms: performance.now() - from })
  }
  const list = async (...args: Parameters<Client['list']>): Promise<number> =>
    (await runtime.list(...args)).items.length
  const { admin } = runtime
  const middle = new Date(FIRST_AT + count / 2)
  await beside('lists and counts', async () => {
    await measure('list()', () => list())
    await measure('list, the 10 pages that follow', () => pages(runtime, 10))
    await measure('list, oldest first', () => list({}, { order: 'oldest' }))
    await measure("list { workflow: 'rare' }, 1 in 1000", () => list({ workflow: rare }))
    await measure('list { workflow, version }', () =>
      list({ workflow: rare, version: rare.version }),
    )
    await measure("list { status: 'failed' }, 1 in 100", () => list({ status: 'failed' }))
    await measure("list { workflow: 'rare', status: 'failed' }, none", () =>
      list({ workflow: rare, status: 'failed' }),
    )
    await measure("list { status: 'completed' }", () => list({ status: 'completed' }))
    await measure("list { status: 'running' }, hardly any", () => list({ status: 'running' }))
    await measure("list { status: 'suspended' }, none", () => list({ status: 'suspended' }))
    await measure('list { labels }, 1 in 1000', () => list({ labels: { tenant: 't7' } }))
    await measure('list { idPrefix }, 1 in 9', () => list({ idPrefix: 'old-7' }))
    await measure('list { createdBefore }, from the middle', () => list({ createdBefore: middle }))
    await measure('count()', () => admin.count({ createdBefore: new Date(FIRST_AT + count + 1) }))
    await measure("count { status: 'failed' }", () => admin.count({ status: 'failed' }))
    await measure("count { workflow: 'rare' }", () => admin.count({ workflow: rare }))
    await measure("count { status: 'completed' }", () => admin.count({ status: 'completed' }))
    await measure('count { labels }, 1 in 1000', () => admin.count({ labels: { tenant: 't7' } }))
    await measure('stats()', async () => (await admin.stats()).instances.length)
    await measure('errors()', async () => (await admin.errors()).length)
    const shown = dashboard(runtime)
    const ask = async (path: string): Promise<number> => {
      const response = await shown.fetch(new Request(`http://localhost/api/${path}`))
      return (await response.text()).length
    }
    await measure('dashboard, bytes of a page of instances', () => ask('instances'))
    await measure('dashboard, bytes of those that failed', () => ask('instances?status=failed'))
    await measure('dashboard, bytes of the overview', () => ask('overview'))
    await measure('dashboard, bytes of a count to 10,000', () => ask('instances/count'))
  })
  await beside('prune', () => measure('prune()', () => admin.prune()))
  await beside('delete', async () => {
    await measure('delete { labels }', () => admin.delete({ labels: { tenant: 't7' } }))
    await measure('delete { finishedBefore }, a tenth', () =>
      admin.delete({ finishedBefore: new Date(FIRST_AT + count / 10) }),
    )
  })
  return { calls, latencies: latencies as Report['latencies'] }
}

async function pages(client: Client, count: number): Promise<number> {
  let seen = 0
  let { next } = await client.list()
  for (let i = 0; i < count && next !== undefined; i++) {
    const page = await client.list({}, { after: next })
    seen += page.items.length
    next = page.next
  }
  return seen
}

const ignore = (): void => {}
const QUIET = { debug: ignore, info: ignore, warn: ignore, error: ignore }

async function latenciesOf(client: Client, count: number): Promise<Latencies> {
  const times: number[] = []
  for (let i = 0; i < count; i++) times.push(await timeOf(client, i))
  return summary(times)
}

async function latenciesUntil(client: Client, signal: AbortSignal): Promise<Latencies> {
  const times: number[] = []
  for (let i = 0; !signal.aborted; i++) times.push(await timeOf(client, i))
  return summary(times)
}

async function timeOf(client: Client, n: number): Promise<number> {
  const from = performance.now()
  await client.run(order, n)
  return performance.now() - from
}

function summary(times: readonly number[]): Latencies {
  const sorted = times.toSorted((a, b) => a - b)
  return {
    count: sorted.length,
    median: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    max: sorted.at(-1) ?? 0,
  }
}

/** When the first of them was created; each next one a millisecond later. */
const FIRST_AT = Date.UTC(2020, 0, 1)

// One in 1000 is of the rare workflow, one in 100 failed, one in 10 has a label with 100 values, and one in
// 100 is at its third execution. Each has two turns for each execution.

async function fill(place: Place, count: number): Promise<void> {
  if (place.kind === 'sqlite') fillSqlite(place.path, count)
  else await fillPostgres(place.url, place.schema, count)
}

const FAILURE = JSON.stringify({ name: 'Error', message: 'declined' })

function fillSqlite(path: string, count: number): void {
  const file = new Sqlite(path)
  const numbers = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${count})`
  const first = file.prepare('select next_iid as iid from store').get() as { iid: number }
  const iid = `${first.iid + 1_000_000} + i`
  file.transaction(() => {
    file.exec(`
${numbers}
insert into instances
  (iid, id, workflow, any_version, execution, status, output, created_at, updated_at, finished_at, labels)
select ${iid}, 'old-' || i,
  (select min(workflow) from workflows where name = iif(i % 1000 = 0, 'rare', 'order') and version <> ''),
  (select workflow from workflows where name = iif(i % 1000 = 0, 'rare', 'order') and version = ''),
  iif(i % 100 = 3, 3, 1), iif(i % 100 = 5, 'failed', 'completed'), iif(i % 100 = 5, '${FAILURE}', '1'),
  ${FIRST_AT} + i, ${FIRST_AT} + i, ${FIRST_AT} + i, iif(i % 10 = 7, '{"tenant":"t' || (i / 10 % 100) || '"}', '{}')
from n;
${numbers}
insert into history (iid, execution, turn, epoch, at, first, count, events)
select ${iid}, e.value, t.value, 1, ${FIRST_AT} + i, t.value, 1, 'x'
from n, json_each('[1,2,3]') as e, json_each('[1,2]') as t
where e.value = 1 or i % 100 = 3;
insert into labels (label, created_at, iid)
select 'tenant' || char(31) || json_extract(labels, '$.tenant'), created_at, iid
from instances where labels <> '{}';
insert into unsuccessful (any_version, status, created_at, iid)
select any_version, status, created_at, iid from instances where status = 'failed';
update store set next_iid = ${first.iid + 1_000_000 + count + 1};
`)
  })()
  file.close()
}

async function fillPostgres(url: string, schema: string, count: number): Promise<void> {
  const client = new PgClient({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set search_path to ${schema}`)
    const { rows } = await client.query<{ first: string }>(
      `select nextval('instance_numbers')::bigint + 1000000 as first`,
    )
    const first = rows[0]!.first
    await client.query(`select setval('instance_numbers', ${first} + ${count} + 1)`)
    await client.query(`
insert into instances
  (iid, id, workflow, any_version, execution, status, output, created_at, updated_at, finished_at, labels)
select ${first} + i, 'old-' || i,
  (select min(workflow) from workflows where name = case when i % 1000 = 0 then 'rare' else 'order' end and version <> ''),
  (select workflow from workflows where name = case when i % 1000 = 0 then 'rare' else 'order' end and version = ''),
  case when i % 100 = 3 then 3 else 1 end, case when i % 100 = 5 then 3 else 2 end,
  case when i % 100 = 5 then '${FAILURE}' else '1' end,
  ${FIRST_AT} + i, ${FIRST_AT} + i, ${FIRST_AT} + i,
  case when i % 10 = 7 then '{"tenant":"t' || (i / 10 % 100) || '"}' end
from generate_series(1, ${count}) as i`)
    await client.query(`
insert into history (iid, execution, turn, epoch, at, first, count, events)
select ${first} + i, e, t, 1, ${FIRST_AT} + i, t, 1, 'x'
from generate_series(1, ${count}) as i, generate_series(1, 3) as e, generate_series(1, 2) as t
where e = 1 or i % 100 = 3`)
    await client.query(`
insert into labels (label, created_at, iid)
select label_key('tenant', labels::json ->> 'tenant'), created_at, iid
from instances where labels is not null`)
    await client.query(`
insert into unsuccessful (any_version, status, created_at, iid)
select any_version, status, created_at, iid from instances where status = 3`)
    // As autovacuum does within a minute.
    await client.query('vacuum analyze')
  } finally {
    await client.end()
  }
}

/** The plan of the walk through all instances by age, as the database has it. */
export async function planOfList(place: Place): Promise<string> {
  if (place.kind === 'sqlite') {
    const file = new Sqlite(place.path)
    const rows = file
      .prepare(
        `explain query plan select iid from instances
        where any_version = ? and (created_at, iid) < (?, ?)
        order by created_at desc, iid desc limit 500`,
      )
      .all(0, 0, 0) as { detail: string }[]
    file.close()
    return rows.map(({ detail }) => detail).join('\n')
  }
  const client = new PgClient({ connectionString: place.url })
  await client.connect()
  try {
    await client.query(`set search_path to ${place.schema}`)
    await client.query('set plan_cache_mode to force_generic_plan')
    await client.query(
      `prepare walk (integer, bigint, bigint) as select iid from instances
      where any_version = $1 and (created_at, iid) < ($2, $3)
      order by created_at desc, iid desc limit 500`,
    )
    const { rows } = await client.query<{ 'QUERY PLAN': string }>('explain execute walk (0, 0, 0)')
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  } finally {
    await client.end()
  }
}
