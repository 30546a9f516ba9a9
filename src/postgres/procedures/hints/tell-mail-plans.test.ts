import { Pool } from 'pg'
import { expect, test } from 'vitest'

import { testSchema } from '../../../../test/support/postgres.ts'
import { forbidVacuum, scansOf } from '../../../../test/support/postgres-scans.ts'
import type { PgPool } from '../../connect/driver.ts'
import { quoted } from '../../connect/schema-name.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

const INSTANCES = 50_000
const TABLES = ['instances', 'runs', 'inbox']

test('announcing mail by id reads what is named, whatever the tables were when it was planned', async () => {
  await using database = await testSchema()
  const { url, schema } = database
  const pool = new Pool({ connectionString: url, max: 1 })
  const store = postgresWorkflowStore({ source: { pool: pool as unknown as PgPool }, schema })
  await store.open()
  await forbidVacuum(database, TABLES)
  const announce = async (): Promise<void> => {
    const several = Array.from({ length: 100 }, (_, i) => `order-${i + 1}`)
    // One instance with an owner, one without, and many.
    for (const ids of [['order-1'], ['order-2'], several]) {
      const text = `select ${quoted(schema)}.tell_mail($1, $2)`
      await pool.query(text, [ids.join('\u0001'), ids.length])
    }
  }
  for (let call = 0; call < 6; call++) await announce()
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'order-' || i, 1, 1, 1, 0, 0 from generate_series(1, ${INSTANCES}) as i`,
  )
  await database.query(
    `insert into runs (iid, workflow, epoch, owner)
    select i, 1, 1, case when i % 2 = 1 then 7 end from generate_series(1, ${INSTANCES}) as i`,
  )
  await database.query(
    `insert into inbox (iid, kind, name, payload)
    select i, 3, 'notes', 'x' from generate_series(1, ${INSTANCES}) as i`,
  )

  const scans = await scansOf(pool, schema, TABLES, announce)
  await store.close()
  await pool.end()

  expect(TABLES.map((table) => scans[table]!.seq)).toEqual([0, 0, 0])
  expect(Math.max(...TABLES.map((table) => scans[table]!.fetched))).toBeLessThanOrEqual(300)
})
