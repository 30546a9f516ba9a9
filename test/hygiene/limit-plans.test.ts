import { Pool } from 'pg'
import { expect, test } from 'vitest'

import type { PgPool } from '../../src/postgres/connect/driver.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { NO_VERSION } from '../../src/store/instances.ts'
import { testSchema } from '../support/postgres.ts'
import { forbidVacuum, scansOf } from '../support/postgres-scans.ts'
import { batch, item, start, ticking, turn } from '../support/postgres-store.ts'

// As src/postgres/procedures/plans.test.ts: plans are made while tables are empty, and kept.

const TABLES = ['instances', 'runs', 'history', 'admissions', 'inbox', 'limits']
const WAITING = 200_000
const KEYS = 2_000

test(
  'however many starts wait for their limits, nothing reads them through',
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
    const limit = { concurrency: 2, rate: { count: 1_000, perMs: 1_000 }, keyed: true }
    const runtime = await store.register({
      leaseMs: 3_600_000,
      info: '',
      workflows: [
        { name: 'order', version: '1.0.0', limit },
        { name: 'order', version: NO_VERSION, limit },
      ],
    })
    const { workflows } = runtime
    const begin = async (limitKey: string, priority = 0): Promise<number> => {
      const iid = await store.reserve(1)
      const unowned = { owned: false, wakeAt: 1, limitKey, priority }
      await store.start([{ ...start(runtime, iid), ...unowned }])
      return iid
    }
    const claim = async (): Promise<readonly number[]> => {
      const request = { runtime: runtime.runtime, workflows, limit: 10, hinted: [] }
      return (await store.claim(request)).claims.map(({ iid }) => iid)
    }
    const end = async (iid: number): Promise<unknown> => {
      const next = { kind: 'end', end: { status: 'completed', output: '1' } } as const
      return store.commit(batch(runtime, { turns: [item(iid, { turn: turn(2), next })] }))
    }
    // Every statement once, on tables that are empty: admitted, in line, woken, with a priority.
    const few = [await begin('a'), await begin('a'), await begin('a', 5), await begin('a')]
    for (const iid of [...(await claim()), ...(await claim())]) await end(iid)
    for (let own = await claim(); own.length > 0; own = await claim())
      for (const iid of own) await end(iid)
    await store.tick(ticking(runtime))
    expect(few.length).toBe(4)

    await database.query(
      `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
      select 10000 + i, 'waiting-' || i, $2, 1, 1, 0, 0 from generate_series(1, $1::int) as i`,
      [WAITING, workflows[0]],
    )
    await database.query(
      `insert into runs (iid, workflow, epoch, admitted)
      select 10000 + i, $2, case when i > $3 then 0 else 1 end, i <= $3
      from generate_series(1, $1::int) as i`,
      [WAITING, workflows[0], 2 * KEYS],
    )
    await database.query(
      `insert into admissions (iid, since, workflow, priority, state, limit_key)
      select 10000 + i, 1, $2, 0, case when i > $3 then 1 else 2 end, 'key ' || i % $4::int
      from generate_series(1, $1::int) as i`,
      [WAITING, workflows[1], 2 * KEYS, KEYS],
    )
    const { schema } = database
    const scans = async (work: () => Promise<unknown>) => scansOf(pool, schema, TABLES, work)
    const found = {
      start: await scans(() => begin('key 1')),
      'a claim that admits nothing': await scans(claim),
      'a claim of a new key': await scans(async () => {
        await begin('new')
        expect((await claim()).length).toBe(1)
      }),
      tick: await scans(() => store.tick(ticking(runtime))),
      'an end that wakes a line, and the claim after it': await scans(async () => {
        const iid = await begin('key 7')
        await database.query(`update runs set owner = $1, epoch = 1 where iid = 10007`, [
          runtime.runtime,
        ])
        await database.query(
          `insert into history (iid, execution, turn, epoch, at, first, count, events)
          values (10007, 1, 1, 1, 0, 1, 1, 'x')`,
        )
        await end(10_007)
        const [admitted] = await claim()
        expect(admitted).not.toBe(iid)
      }),
      whereabouts: await scans(() => store.whereabouts(10_000 + WAITING)),
    }
    await store.close()
    await pool.end()

    for (const [name, tables] of Object.entries(found)) {
      for (const [table, { seq, fetched }] of Object.entries(tables)) {
        expect({ name, table, seq, few: fetched < 500 }).toEqual({ name, table, seq: 0, few: true })
      }
    }
  },
)
