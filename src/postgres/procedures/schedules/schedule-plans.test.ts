import { Pool } from 'pg'
import { expect, test, vi } from 'vitest'

import { testSchema } from '../../../../test/support/postgres.ts'
import { forbidVacuum, scansOf, type Scans } from '../../../../test/support/postgres-scans.ts'
import { start, ticking } from '../../../../test/support/postgres-store.ts'
import type { Registered } from '../../../store/runtimes.ts'
import type { Firing } from '../../../store/schedules.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { PgPool } from '../../connect/driver.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

// As in `procedures/plans.test.ts`: plans are made while tables are empty, and kept.

vi.setConfig({ testTimeout: 60_000 })

const SCHEDULES = 20_000
const INSTANCES = 50_000
const DUE = 50
const FAR = 9e14
const TABLES = ['schedules', 'instances', 'runs', 'history']

let unique = 0

const firings = (runtime: Registered, overlap: Firing['overlap']): Firing[] =>
  Array.from({ length: DUE }, (_, i) => ({
    name: `s${i + 1}`,
    revision: 'r',
    due: 1,
    missed: 1,
    at: 1,
    start: {
      ...start(runtime, 10 * INSTANCES + ++unique),
      owned: false,
      wakeAt: FAR,
    },
    // It stays due, for the next call.
    nextAt: 1,
    setAt: 1,
    overlap,
    passed: 1,
    nextAfterPassed: 1,
  }))

const CALLS: Record<string, (store: WorkflowStore, runtime: Registered) => Promise<unknown>> = {
  tick: (store, runtime) => store.tick(ticking(runtime)),
  due: ({ schedules }) => schedules.due(DUE, ['s7', 's19999']),
  'fire: skip': ({ schedules }, runtime) => schedules.fire(firings(runtime, 'skip')),
  'fire: allow': ({ schedules }, runtime) => schedules.fire(firings(runtime, 'allow')),
  'fire: queue': ({ schedules }, runtime) => schedules.fire(firings(runtime, 'queue')),
  read: ({ schedules }) => schedules.read(['s7', 's19999']),
  move: ({ schedules }) =>
    schedules.move({ name: 's60', revision: 'r', due: FAR, nextAt: FAR, setAt: 0, paused: false }),
  fail: ({ schedules }) => schedules.fail({ name: 's61', revision: 'r', due: FAR }, 'why'),
  trigger: ({ schedules }, runtime) =>
    schedules.trigger(
      { name: 's62', revision: 'r' },
      { ...start(runtime, 10 * INSTANCES + ++unique), owned: false, wakeAt: FAR },
    ),
  put: ({ schedules }, { workflows }) =>
    schedules.put({
      name: 's63',
      revision: 'r',
      workflow: workflows[0]!,
      timing: 't',
      template: `${++unique}`,
      nextAt: FAR,
      anchor: 1,
    }),
  remove: ({ schedules }) => schedules.remove(`s${SCHEDULES - ++unique}`),
}

test('plans made on empty tables serve thousands of schedules without reading them through', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const source = { pool: pool as unknown as PgPool }
  const store = postgresWorkflowStore({ source, schema: database.schema })
  await pool.query('set plan_cache_mode to force_generic_plan')
  await store.open()
  await forbidVacuum(database, [...TABLES, 'runtimes', 'workflows'])
  const workflows = [{ name: 'order', version: '1' }]
  const runtime = await store.register({ leaseMs: 3_600_000, info: '', workflows })
  for (const call of Object.values(CALLS)) await call(store, runtime)
  await database.query('delete from schedules')
  await database.query(
    `insert into runs (iid, workflow, epoch, wake_at)
    select i, $1::int, 0, $3::bigint from generate_series(1, $2::int) as i`,
    [runtime.workflows[0], INSTANCES, FAR],
  )
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'nightly-' || i, $1::int, 1, 1, 0, 0 from generate_series(1, $2::int) as i`,
    [runtime.workflows[0], INSTANCES],
  )
  await database.query(
    `insert into schedules (
      name, revision, workflow, timing, template, anchor, next_at, wake_at, set_at, created_at,
      updated_at, running
    )
    select
      's' || i, 'r', $1::int, 't', 'u', 1,
      case when i <= $3 then 1 else $4::bigint end, case when i <= $3 then 1 else $4::bigint end,
      1, 1, 1, array[i]
    from generate_series(1, $2::int) as i`,
    [runtime.workflows[0], SCHEDULES, DUE, FAR],
  )

  const found: [string, Scans][] = []
  for (const [name, call] of Object.entries(CALLS)) {
    found.push([name, await scansOf(pool, database.schema, TABLES, () => call(store, runtime))])
  }
  await store.close()
  await pool.end()

  for (const [name, tables] of found) {
    for (const [table, { seq, fetched }] of Object.entries(tables)) {
      expect({ name, table, seq }).toEqual({ name, table, seq: 0 })
      expect(fetched, `${name} fetched rows of ${table}`).toBeLessThanOrEqual(DUE * 20)
    }
  }
})
