import { Pool } from 'pg'
import { expect, test } from 'vitest'

import type { PgPool } from '../../src/postgres/connect/driver.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import type { InstanceQuery } from '../../src/store/admin-store.ts'
import { queryFor, taskQuery } from '../../src/testing/contract/admin-items.ts'
import { testSchema } from '../support/postgres.ts'
import { forbidVacuum, scansOf } from '../support/postgres-scans.ts'
import { batch, start } from '../support/postgres-store.ts'

// As plans.test.ts: plans are made while tables are empty, and kept.

const TABLES = ['instances', 'history', 'state', 'labels', 'unsuccessful', 'ended', 'runs', 'tasks']
const INSTANCES = 50_000
const SCAN = 200

/** Each with the most rows of `instances` that it may fetch. */
const SEARCHES: readonly (readonly [Partial<InstanceQuery>, number])[] = [
  [{}, 2 * SCAN],
  [{ order: 'oldest', createdFrom: 1, createdUntil: 9e14 }, 2 * SCAN],
  [{ workflow: 'order', version: '1', statuses: ['completed', 'running'] }, 2 * SCAN],
  [{ statuses: ['failed'] }, 2 * SCAN],
  [{ statuses: ['suspended'] }, 2 * SCAN],
  [{ statuses: ['running'] }, 2 * SCAN],
  [{ labels: [['tenant', 't7']] }, 2 * SCAN],
  [{ labels: [['tenant', 't7'] as const, ['nobody', 'has'] as const] }, 2 * SCAN],
  [{ parent: 'old-1' }, 2 * SCAN + 10],
  [{ idPrefix: 'old-777' }, 500],
  [{ finishedFrom: 1, finishedUntil: 9e14, minExecution: 2 }, 2 * SCAN],
]

test(
  'searches, trees, pruning and removals read what they are asked to, and no table through',
  { timeout: 120_000 },
  async () => {
    await using database = await testSchema()
    const pool = new Pool({ connectionString: database.url, max: 1 })
    const store = postgresWorkflowStore({
      source: { pool: pool as unknown as PgPool },
      schema: database.schema,
    })
    await pool.query('set plan_cache_mode to force_generic_plan')
    await store.open()
    await forbidVacuum(database, TABLES)
    const workflows = [{ name: 'order', version: '1' }]
    const runtime = await store.register({ leaseMs: 3_600_000, info: '', workflows })
    const first = await store.reserve(1)
    await store.commit(batch(runtime, { starts: [start(runtime, first)] }))
    const { admin } = store
    const page = { after: null, limit: 50, scan: SCAN }
    const calls = new Map<string, () => Promise<unknown>>([
      ...SEARCHES.flatMap(([query]) =>
        [0, 50].map((limit): [string, () => Promise<unknown>] => [
          `${limit} ${JSON.stringify(query)}`,
          () => admin.search(queryFor(query), { ...page, limit }),
        ]),
      ),
      ['tree', () => admin.tree(1_001, { fromRoot: true, limit: 100 })],
      ['executions', () => admin.executions(1_001)],
      ['prune', () => admin.prune({ iids: [1_003, 1_004], keep: 1, endedUntil: null })],
      ['removeTrees', () => admin.removeTrees([1_001], { together: true })],
      ['findTasks', () => admin.findTasks(taskQuery({ tag: 'gpu' }), page)],
    ])
    // All plans are made now, and kept.
    for (const call of calls.values()) await call()
    await database.query(
      `insert into instances
        (iid, id, workflow, any_version, execution, status, created_at, updated_at, finished_at, labels, parent_iid, on_close, parent_id, parent_execution, parent_command)
      select 1000 + i, 'old-' || i, $2, (any_versions(array[$2::int]))[1], case when i % 100 = 3 then 2 else 1 end, case when i % 100 = 5 then 3 else 2 end, i, i, i,
        case when i % 10 = 7 then '{"tenant":"t' || (i / 10 % 100) || '"}' end,
        case when i between 2 and 11 then 1001 end, case when i between 2 and 11 then 1 end,
        case when i between 2 and 11 then 'old-1' end, case when i between 2 and 11 then 1 end, case when i between 2 and 11 then i end
      from generate_series(1, $1::int) as i`,
      [INSTANCES, runtime.workflows[0]],
    )
    await database.query(
      `insert into history (iid, execution, turn, epoch, at, first, count, events)
      select 1000 + i, e, 1, 1, 0, 1, 1, 'x'
      from generate_series(1, $1::int) as i, generate_series(1, 2) as e`,
      [INSTANCES],
    )
    await database.query(
      `insert into labels (label, created_at, iid)
      select label_key('tenant', labels::json ->> 'tenant'), created_at, iid from instances where labels is not null`,
    )
    await database.query(
      `insert into unsuccessful (any_version, status, created_at, iid)
      select any_version, status, created_at, iid from instances where status = 3`,
    )

    const limits = new Map(SEARCHES.map(([query, most]) => [JSON.stringify(query), most]))
    for (const [name, call] of calls) {
      const scans = await scansOf(pool, database.schema, TABLES, call)
      const most = limits.get(name.replace(/^\d+ /, '')) ?? 100
      for (const [table, { seq, fetched }] of Object.entries(scans)) {
        expect({ name, table, seq, fetched: fetched <= most ? 'few' : fetched }).toEqual({
          name,
          table,
          seq: 0,
          fetched: 'few',
        })
      }
    }
    expect(await admin.search(queryFor({ statuses: ['failed'] }), page)).toMatchObject({
      matched: 50,
    })
    await store.close()
    await pool.end()
  },
)
