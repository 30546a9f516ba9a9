import { Pool } from 'pg'
import { expect, test } from 'vitest'

import type { PgPool } from '../../src/postgres/connect/driver.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { testSchema } from '../support/postgres.ts'
import { forbidVacuum, scansOf } from '../support/postgres-scans.ts'
import { batch, item, start, turn } from '../support/postgres-store.ts'

// As src/postgres/procedures/plans.test.ts: plans are made while tables are empty, and kept.

const TABLES = ['instances', 'history', 'state', 'ended', 'runs']
const INSTANCES = 100_000
const EXPIRED = 500

test('expired instances are found and removed without a scan', { timeout: 60_000 }, async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const store = postgresWorkflowStore({
    source: { pool: pool as unknown as PgPool },
    schema: database.schema,
  })
  await pool.query('set plan_cache_mode to force_generic_plan')
  await store.open()
  await forbidVacuum(database, TABLES)
  const runtime = await store.register({
    leaseMs: 3_600_000,
    info: '',
    workflows: [{ name: 'order', version: '1', retentionMs: 60_000 }],
  })
  const end = async (iid: number): Promise<void> => {
    const next = { kind: 'end', end: { status: 'completed', output: '1' } } as const
    await store.commit(batch(runtime, { turns: [item(iid, { turn: turn(2), next })] }))
  }
  const first = await store.reserve(2)
  await store.commit(batch(runtime, { starts: [start(runtime, first), start(runtime, first + 1)] }))
  await end(first)
  await store.removeExpired()
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at, finished_at)
    select 1000 + i, 'old-' || i, $2, 1, 2, 0, 0, 0 from generate_series(1, $1::int) as i`,
    [INSTANCES, runtime.workflows[0]],
  )
  await database.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    select 1000 + i, 1, t, 1, 0, t, 1, 'x'
    from generate_series(1, $1::int) as i, generate_series(1, 2) as t`,
    [INSTANCES],
  )
  await database.query(
    `insert into ended (at, iid, workflow)
    select case when i <= $2 then 0 else 9e14 end, 1000 + i, $3
    from generate_series(1, $1::int) as i`,
    [INSTANCES, EXPIRED, runtime.workflows[0]],
  )

  const { schema } = database
  const ending = await scansOf(pool, schema, TABLES, () => end(first + 1))
  const removing = await scansOf(pool, schema, TABLES, () => store.removeExpired())
  await store.removeExpired()
  const left = await database.query('select count(*)::int as n from instances')
  await store.close()
  await pool.end()

  for (const [table, { seq, fetched }] of Object.entries(ending)) {
    expect({ table, seq, few: fetched < 20 }).toEqual({ table, seq: 0, few: true })
  }
  for (const [table, { seq, fetched }] of Object.entries(removing)) {
    expect({ table, seq, few: fetched <= 4 * EXPIRED }).toEqual({ table, seq: 0, few: true })
  }
  expect(left).toEqual([{ n: INSTANCES - EXPIRED + 2 }])
})
