import { Pool } from 'pg'
import { expect, test, vi } from 'vitest'

import { testSchema } from '../../../../test/support/postgres.ts'
import { forbidVacuum, scansOf } from '../../../../test/support/postgres-scans.ts'
import type { PgPool } from '../../connect/driver.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

vi.setConfig({ testTimeout: 60_000 })

const TABLES = ['runs', 'inbox', 'tasks']
const ROWS = 50_000

test('plans of transactions made on empty tables serve full ones without a scan', async () => {
  await using database = await testSchema()
  const { url, schema } = database
  const pool = new Pool({ connectionString: url, max: 1 })
  await pool.query('set plan_cache_mode to force_generic_plan')
  await pool.query(`set search_path to "${schema}"`)
  const store = postgresWorkflowStore({ source: { pool: pool as unknown as PgPool }, schema })
  await store.open()
  await forbidVacuum(database, TABLES)
  // By itself, since a commit would take with it what is to be measured.
  const transact = async (iid: number, epoch: number | null, attempt: number | null) => {
    const begin = 'select begin_transaction(7, $1, 1, 1, $2, $3, 1000) as xid'
    const begun = await pool.query<{ xid: string | null }>(begin, [iid, epoch, attempt])
    const xid = begun.rows[0]!.xid
    const finish = `select finish_transaction(pg_current_xact_id()::text, 7, $1, 1, 1, $2, $3, '1') as v`
    const finished = await pool.query<{ v: string }>(finish, [iid, epoch, attempt])
    return [xid === null ? 'refused' : 'begun', finished.rows[0]!.v]
  }
  const both = async (iid: number) => [
    await transact(iid, 1, null),
    await transact(iid + ROWS, null, 1),
  ]
  const none = await both(1)
  await database.query(
    `insert into runs (iid, workflow, owner, epoch) select i, 1, 7, 1 from generate_series(1, ${ROWS}) i`,
  )
  await database.query(
    `insert into inbox (iid, kind, execution, command, payload)
    select i, 1, 1, 2, '1' from generate_series(1, ${2 * ROWS}) i`,
  )
  await database.query(
    `insert into tasks (iid, execution, command, held_by, attempts, activity, tag, input, options)
    select i, 1, 1, 7, 1, 'pay', '', '1', '{}' from generate_series(${ROWS}, ${2 * ROWS}) i`,
  )

  let some: unknown
  const scans = await scansOf(pool, schema, TABLES, async () => (some = await both(1_000)))
  await store.close()
  await pool.end()

  expect(none).toEqual([
    ['refused', 'r'],
    ['refused', 'r'],
  ])
  expect(some).toEqual([
    ['begun', 'd'],
    ['begun', 'd'],
  ])
  for (const [table, { seq, fetched }] of Object.entries(scans)) {
    expect({ table, seq }).toEqual({ table, seq: 0 })
    expect(fetched, `rows of ${table}`).toBeLessThanOrEqual(20)
  }
})
