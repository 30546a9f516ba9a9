import { Pool } from 'pg'
import { expect, test } from 'vitest'

import type { PgPool } from '../../src/postgres/connect/driver.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { testSchema } from '../support/postgres.ts'
import { forbidVacuum, scansOf } from '../support/postgres-scans.ts'

const INSTANCES = 50_000

test('announcing reads the runs that are named, whatever the tables were when it was planned', async () => {
  await using database = await testSchema()
  const { url, schema } = database
  const pool = new Pool({ connectionString: url, max: 1 })
  const store = postgresWorkflowStore({ source: { pool: pool as unknown as PgPool }, schema })
  await store.open()
  await forbidVacuum(database, ['runs', 'runtimes'])
  await store.register({
    leaseMs: 60_000,
    info: '',
    workflows: [{ name: 'order', version: '1' }],
  })
  const announce = (): Promise<unknown> =>
    pool.query(
      `select ${quoted(schema)}.tell_hints(
        0, false, array(select generate_series(1, 100)), array(select generate_series(101, 200)),
        'ship', '{1}', '{f}', '', '', 0)`,
    )
  for (let call = 0; call < 6; call++) await announce()
  await database.query(
    `insert into runs (iid, workflow, epoch, wake_at, owner)
    select i, 1, 1, case when i % 2 = 0 then 5 end, case when i % 2 = 1 then 7 end
    from generate_series(1, ${INSTANCES}) as i`,
  )

  const { runs } = await scansOf(pool, schema, ['runs'], announce)

  expect(runs!.seq).toBe(0)
  expect(runs!.fetched).toBeLessThanOrEqual(200)
  await store.close()
  await pool.end()
})
