import { Pool } from 'pg'
import { describe, expect, test, vi } from 'vitest'

import { testSchema, type TestSchema } from '../../../test/support/postgres.ts'
import { forbidVacuum, scansOf, type Scans } from '../../../test/support/postgres-scans.ts'
import { batch, item, start, ticking, turn } from '../../../test/support/postgres-store.ts'
import type { Effects } from '../../store/commits.ts'
import type { Post } from '../../store/inbox.ts'
import type { Registered } from '../../store/runtimes.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'
import type { PgPool } from '../connect/driver.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

// Plans are made while tables are empty, and kept. Each procedure is called once before the tables
// are filled, on the one connection that is then measured; nothing analyses them in between.

vi.setConfig({ testTimeout: 60_000 })

const INSTANCES = 100_000
/** One instance has so many turns that reading them all cannot hide. */
const LONG = 1
const TURNS = 20_000
const SLEEPING = 9e14
const BATCH = 100
const TABLES = ['instances', 'runs', 'history', 'inbox', 'posted', 'state', 'replies']

describe('plans made on empty tables', () => {
  test('serve full ones without a scan', async () => {
    await using database = await testSchema()
    const pool = new Pool({ connectionString: database.url, max: 1 })
    const store = postgresWorkflowStore({
      source: { pool: pool as unknown as PgPool },
      schema: database.schema,
    })
    await pool.query('set plan_cache_mode to force_generic_plan')
    await store.open()
    await forbidVacuum(database, [...TABLES, 'runtimes', 'workflows'])
    const runtime = await store.register({
      leaseMs: 3_600_000,
      info: '',
      workflows: [
        { name: 'order', version: '1' },
        { name: 'other', version: '1' },
      ],
    })
    await livesOfAFew(store, runtime)
    for (const call of Object.values(CALLS)) await call(store, runtime)
    await fill(database, runtime)

    const found: [string, Scans][] = []
    for (const [name, call] of Object.entries(CALLS)) {
      const { schema } = database
      found.push([name, await scansOf(pool, schema, TABLES, () => call(store, runtime))])
    }
    await store.close()
    await pool.end()

    for (const [name, tables] of found) {
      for (const [table, { seq, fetched }] of Object.entries(tables)) {
        expect({ name, table, seq }).toEqual({
          name,
          table,
          seq: 0,
        })
        expect(fetched, `${name} fetched rows of ${table}`).toBeLessThanOrEqual(BATCH * 12)
      }
    }
  })
})

/** Every hot procedure, in every way that has statements of its own. */
const CALLS: Record<string, (store: WorkflowStore, runtime: Registered) => Promise<unknown>> = {
  'commit: turns': (store, runtime) =>
    store.commit(batch(runtime, { turns: some((iid) => item(iid, { turn: turn(TURNS + 1) })) })),
  'commit: turns sent again': (store, runtime) =>
    store.commit(batch(runtime, { turns: some((iid) => item(iid, { turn: turn(1) })) })),
  'commit: releases': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) =>
          item(iid, {
            turn: iid % 2 === 0 ? turn(TURNS + 1) : null,
            next: { kind: 'release', wakeAt: 5 },
          }),
        ),
      }),
    ),
  'commit: holds': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) => item(iid, { next: { kind: 'suspend', report: 'x' } })),
      }),
    ),
  'commit: ends': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) =>
          item(iid, {
            turn: turn(TURNS + 1),
            taken: [iid],
            next: { kind: 'end', end: { status: 'completed', output: '1' } },
          }),
        ),
      }),
    ),
  'commit: starts': (store, runtime) =>
    store.commit(
      batch(runtime, {
        starts: some((iid) => start(runtime, iid + 10 * INSTANCES + (unique += BATCH))),
      }),
    ),
  'commit: starts sent again': (store, runtime) =>
    store.commit(batch(runtime, { starts: some((iid) => start(runtime, iid)) })),
  'commit: effects': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) =>
          item(iid, { turn: turn(TURNS + 1), effects: effects({ parked: [iid], closes: [1, 2] }) }),
        ),
      }),
    ),
  'commit: ends that close all children': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) =>
          item(iid, {
            turn: turn(TURNS + 1),
            effects: effects({ closes: 'all', clearsState: true }),
            next: { kind: 'end', end: { status: 'failed', output: '1' } },
          }),
        ),
      }),
    ),
  'commit: next executions': (store, runtime) =>
    store.commit(
      batch(runtime, {
        turns: some((iid) =>
          item(iid, {
            turn: turn(TURNS + 1),
            next: {
              kind: 'continue',
              started: turn(1, { execution: 2 }),
              workflow: runtime.workflows[0]!,
              keep: iid % 2 === 0,
            },
          }),
        ),
      }),
    ),
  'commit: starts of children, with messages': (store, runtime) =>
    store.commit(
      batch(runtime, {
        starts: some((iid) =>
          start(runtime, iid + 10 * INSTANCES + (unique += BATCH), {
            parent: { iid, id: `order-${iid}`, execution: 1, command: 5, onClose: 'cancel' },
            labels: '{"a":"b"}',
            messages: [{ name: 'notes', payload: 'x' }],
            end: iid % 2 === 0 ? { status: 'completed', output: '1' } : null,
          }),
        ),
      }),
    ),
  'commit: starts that messages came before': (store, runtime) =>
    store.commit(
      batch(runtime, {
        starts: some((n) => start(runtime, 3 * INSTANCES + n, { id: `early-${n}` })),
      }),
    ),
  start: (store, runtime) =>
    store.start(some((iid) => start(runtime, iid, { owned: false, wakeAt: SLEEPING }))),
  'claim: due and mail': (store, runtime) =>
    store.claim({ ...runtime, limit: 3 * BATCH, hinted: [] }),
  'claim: hinted': (store, runtime) =>
    store.claim({ ...runtime, limit: BATCH, hinted: some((iid) => iid + 2 * BATCH) }),
  send: (store) =>
    store.send(
      some((iid) => ({ iid, kind: 'completed', execution: 1, command: iid, payload: 'x' })),
    ),
  'post: to those that are there': (store) =>
    store.post(some((iid) => message(`order-${iid + 3 * BATCH}`, { dedupeKey: `new-${iid}` }))),
  'post: one plain message': (store) =>
    store.post([message(`order-${1 + 3 * BATCH}`, { capacity: 10 })]),
  'post: to those that are not': (store) => store.post(some((n) => message(`nobody-${n}`, {}))),
  'post: wishes to end': (store) =>
    store.post(some((iid) => message(`order-${iid + 3 * BATCH}`, { kind: 'cancel', name: '' }))),
  load: (store) => store.load(some((iid) => ({ iid, after: iid === LONG ? TURNS - 5 : 0 }))),
  find: (store) => store.find(some((iid) => `order-${iid}`)),
  look: (store) => store.look(some((iid) => iid)),
  verify: (store, runtime) =>
    store.verify(
      runtime.runtime,
      some((iid) => ({ iid, epoch: 1, execution: 1, turn: 1 })),
    ),
  suspend: (store) =>
    store.suspend(
      some((iid) => `order-${iid}`),
      'x',
    ),
  terminate: (store) =>
    store.terminate(some((iid) => ({ id: `order-${iid}`, output: 'x', events: 'x' }))),
  remove: (store) => store.remove(some((n) => `gone-${n}`)),
  import: (store, runtime) =>
    store.import({
      iid: 50 * INSTANCES + (unique += BATCH),
      id: `imported-${unique}`,
      workflow: runtime.workflows[0]!,
      labels: '{}',
      turns: some((n) => turn(n)),
      state: some((n) => ({ key: `k${n}`, value: 'x' })),
    }),
  history: (store) => store.history(2, 1),
  readState: (store) => store.readState(some((iid) => ({ id: `order-${iid}`, key: 'k' }))),
  replies: (store) => store.replies(some((n) => `request-${n}`)),
  resume: (store) => store.resume(some((iid) => `order-${iid}`)),
  renewLease: (store, { runtime }) => store.renewLease(runtime, 3_600_000),
  tick: (store, runtime) => store.tick(ticking(runtime)),
}

let unique = 0

/** All kinds of effects, on keys that the tables hold and on some that they do not. */
function effects(more: Partial<Effects>): Effects {
  return {
    parked: [],
    closes: [],
    clearsState: false,
    state: [
      { key: 'k', value: 'y' },
      { key: 'other', value: null },
    ],
    progress: 'half way',
    replies: [{ to: `request-${++unique}`, payload: 'x' }],
    tasks: [],
    dropsTasks: [],
    ...more,
  }
}

function message(id: string, more: Partial<Post>): Post {
  return {
    id,
    kind: 'message',
    name: 'notes',
    payload: 'x',
    replyTo: '',
    dedupeKey: '',
    capacity: 10,
    iid: 30 * INSTANCES + ++unique,
    ...more,
  }
}

/** Brings about what the calls reach only for instances that are there: all is planned then. */
async function livesOfAFew(store: WorkflowStore, runtime: Registered): Promise<void> {
  const first = await store.reserve(3)
  const link = { iid: first, id: `order-${first}`, execution: 1 }
  await store.commit(
    batch(runtime, {
      starts: [
        start(runtime, first),
        start(runtime, first + 1, { parent: { ...link, command: 1, onClose: 'terminate' } }),
        start(runtime, first + 2, { parent: { ...link, command: 2, onClose: 'cancel' } }),
      ],
    }),
  )
  await store.commit(
    batch(runtime, {
      turns: [
        item(first, { turn: turn(2), effects: effects({ closes: [1] }) }),
        item(first + 1, {
          turn: turn(2),
          next: { kind: 'end', end: { status: 'completed', output: '1' } },
        }),
      ],
    }),
  )
  await store.terminate([{ id: link.id, output: 'x', events: 'x' }])
}

/** A batch of items for the first instances; the one with the long history is among them. */
function some<T>(make: (iid: number) => T): T[] {
  return Array.from({ length: BATCH }, (_, i) => make(i + 1))
}

/**
 * The first batch is owned, the second due, the third unowned with mail, the rest asleep; besides,
 * as many due ones of a workflow that no runtime here has. From the fourth batch on, each has a
 * parent three batches before it, and a parked message. A batch has ended, and a batch was never
 * started.
 */
async function fill(database: TestSchema, { runtime, workflows }: Registered): Promise<void> {
  // Not truncate, after which the server would plan anew.
  for (const table of TABLES) {
    await database.query(`delete from ${table}`)
  }
  await database.query(
    `insert into instances (
      iid, id, workflow, any_version, execution, status, created_at, updated_at,
      parent_iid, parent_id, parent_execution, parent_command, on_close
    )
    select
      i, 'order-' || i, $1, (any_versions(array[$1::int]))[1], 1, 1, 0, 0,
      i - $3::int * 3, 'order-' || (i - $3::int * 3), 1, 1, 1
    from generate_series($3::int * 3 + 1, $2::int) as i`,
    [workflows[0], INSTANCES, BATCH],
  )
  await database.query(
    `insert into instances (iid, id, workflow, any_version, execution, status, created_at, updated_at)
    select i, 'order-' || i, $1::int, (any_versions(array[$1::int]))[1], 1, 1, 0, 0 from generate_series(1, $3::int * 3) as i
    union all
    select $2::int * 2 + i, 'gone-' || i, $1::int, (any_versions(array[$1::int]))[1], 1, 2, 0, 0 from generate_series(1, $3::int) as i
    union all
    select $2::int * 3 + i, 'early-' || i, 0, null, 0, 0, 0, 0 from generate_series(1, $3::int) as i`,
    [workflows[0], INSTANCES, BATCH],
  )
  await database.query(
    `insert into runs (iid, workflow, owner, epoch, wake_at)
    select
      i,
      $1,
      case when i <= $4 then $2::int end,
      1,
      case
        when i <= $4 or i between $4 * 2 + 1 and $4 * 3 then null
        when i <= $4 * 2 then 0
        else $5::bigint
      end
    from generate_series(1, $3::int) as i`,
    [workflows[0], runtime, INSTANCES, BATCH, SLEEPING],
  )
  await database.query(
    `insert into runs (iid, workflow, epoch, wake_at)
    select i, 999, 1, 0 from generate_series($1::int + 1, $1::int * 2) as i`,
    [INSTANCES],
  )
  await database.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    select i, 1, 1, 1, 0, 1, 1, 'x' from generate_series(1, $1::int) as i
    union all
    select $2::int, 1, t, 1, 0, t, 1, 'x' from generate_series(2, $3::int) as t`,
    [INSTANCES, LONG, TURNS],
  )
  await database.query(
    `insert into inbox (iid, kind, execution, command, payload, parked)
    select i, 1, 1, 1000000, 'x', i > $1::int * 3
    from generate_series($1::int * 2 + 1, $2::int) as i`,
    [BATCH, INSTANCES],
  )
  await database.query(
    `insert into inbox (iid, kind, name, payload, parked)
    select i, 3, 'notes', 'x', true from generate_series($1::int * 3 + 1, $2::int) as i
    union all
    select $2::int * 3 + i, 3, 'notes', 'x', false from generate_series(1, $1::int) as i`,
    [BATCH, INSTANCES],
  )
  await database.query(
    `insert into posted (iid, key) select i, 'k' from generate_series(1, $1::int) as i`,
    [INSTANCES],
  )
  await database.query(
    `insert into state (iid, key, value) select i, 'k', 'x' from generate_series(1, $1::int) as i`,
    [INSTANCES],
  )
  await database.query(
    `insert into replies (reply_to, payload, at)
    select 'request-' || i, 'x', $2::bigint from generate_series(1, $1::int) as i`,
    [INSTANCES, SLEEPING],
  )
}
