import { Pool } from 'pg'
import { expect, test, vi } from 'vitest'

import { testSchema, type TestSchema } from '../../../../test/support/postgres.ts'
import { forbidVacuum, scansOf, type Scans } from '../../../../test/support/postgres-scans.ts'
import { batch, item, start, ticking, turn } from '../../../../test/support/postgres-store.ts'
import type { Effects, TurnItem } from '../../../store/commits.ts'
import type { Registered } from '../../../store/runtimes.ts'
import type { NewTask, TaskEnd, TaskInterest, TaskKey } from '../../../store/tasks.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { PgPool } from '../../connect/driver.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

// As in plans.test.ts: planned on empty tables, run on full ones.

vi.setConfig({ testTimeout: 120_000 })

/** How many tasks there are that a claim must not read: this many of each kind. */
const MANY = 50_000
const BATCH = 100
const TABLES = ['tasks', 'sessions', 'limits', 'runs', 'instances', 'inbox']
const FAR = 9e14
/** Holds what this runtime must not look at. */
const OTHER_RUNTIME = 4_711

const CHARGE: TaskInterest = { activities: ['charge'], served: { untagged: true, tags: ['gpu'] } }
const ANY_TAG: TaskInterest = { activities: ['charge'], served: { untagged: true, tags: 'any' } }
const MANY_ACTIVITIES: TaskInterest = {
  activities: ['refund', 'charge', 'ship'],
  served: { untagged: true, tags: ['gpu', 'disk'] },
}

test('plans for tasks made on empty tables serve full ones', async () => {
  await using database = await testSchema()
  const pool = new Pool({ connectionString: database.url, max: 1 })
  const store = postgresWorkflowStore({
    source: { pool: pool as unknown as PgPool },
    schema: database.schema,
  })
  await pool.query('set plan_cache_mode to force_generic_plan')
  await store.open()
  await forbidVacuum(database, [...TABLES, 'history', 'runtimes', 'workflows'])
  const runtime = await another(store)
  await livesOfAFew(store, runtime)
  for (const call of Object.values(CALLS)) await call(store, runtime)
  await leave(store, await another(store))
  await fill(database, runtime)

  const { schema } = database
  const found: [string, Scans][] = []
  const counts: Record<string, unknown> = {}
  for (const [name, call] of Object.entries({ ...CALLS, leave })) {
    const scans = await scansOf(pool, schema, TABLES, async () => {
      counts[name] = await call(store, runtime)
    })
    found.push([name, scans])
  }
  await store.close()
  await pool.end()

  expect(counts).toEqual(COUNTS)
  for (const [name, tables] of found) {
    for (const [table, { seq, fetched }] of Object.entries(tables)) {
      const scansRuns = SCANS_RUNS.has(name) && table === 'runs'
      expect({ name, table, seq }).toEqual({ name, table, seq: scansRuns ? 1 : 0 })
      expect(fetched, `${name} fetched rows of ${table}`).toBeLessThanOrEqual(BATCH * 12)
    }
  }
})

/** The owner is in no index: see free_runs.sql. */
const SCANS_RUNS = new Set(['leave'])

/** Every procedure for tasks, in every way that has statements of its own; answers with a count. */
const CALLS: Record<string, (store: WorkflowStore, runtime: Registered) => Promise<number>> = {
  'claim: of one activity': (store, runtime) => claimTasks(store, runtime, CHARGE),
  'claim: of any tag': (store, runtime) => claimTasks(store, runtime, ANY_TAG, 2 * BATCH),
  'claim: of several activities': (store, runtime) => claimTasks(store, runtime, MANY_ACTIVITIES),
  'claim: one': (store, runtime) => claimTasks(store, runtime, CHARGE, 1),
  'finish: completed': (store, runtime) =>
    finish(store, runtime, () => ({ kind: 'completed', payload: 'x' })),
  'finish: another attempt': (store, runtime) =>
    finish(store, runtime, (i) => ({ kind: i % 2 === 0 ? 'retry' : 'release', delayMs: i })),
  beat: (store, { runtime }) =>
    countTrue(
      store.beat(
        runtime,
        heldOnes().map((attempt) => ({ ...attempt, details: 'x', silentMs: 5, local: null })),
      ),
    ),
  'beat: at the owner': (store, { runtime }) =>
    countTrue(
      store.beat(
        runtime,
        some((iid) => ({
          iid,
          execution: 1,
          command: 9,
          token: 7,
          attempt: 1,
          details: null,
          silentMs: null,
          local: { epoch: 1, task: newTask(9) },
        })),
      ),
    ),
  tick: async (store, runtime) => {
    const request = { tasks: MANY_ACTIVITIES, ownedTasks: heldOnes() }
    const answer = await store.tick(ticking(runtime, request))
    return answer.state === 'ok' ? answer.wanted.filter(Boolean).length : -1
  },
  'tick: nothing served': async (store, runtime) => {
    const tasks = { activities: ['nothing'], served: CHARGE.served }
    const answer = await store.tick(ticking(runtime, { tasks }))
    return answer.state === 'ok' ? (answer.nextTask ?? 0) : -1
  },
  'commit: new tasks, and some dropped': (store, runtime) =>
    commit(store, runtime, (iid) => ({
      turn: iid % 2 === 0 ? turn(2) : null,
      effects: effects({ tasks: [newTask(5), newTask(6)], dropsTasks: [1, 6] }),
    })),
  'commit: ends': (store, runtime) =>
    commit(store, runtime, () => ({
      turn: turn(3),
      next: { kind: 'end', end: { status: 'completed', output: '1' } },
    })),
  'commit: next executions': (store, runtime) =>
    commit(store, runtime, () => ({
      turn: turn(3),
      next: {
        kind: 'continue',
        started: turn(1, { execution: 2 }),
        workflow: runtime.workflows[0]!,
        keep: true,
      },
    })),
  load: async (store) => {
    const loaded = await store.load(some((iid) => ({ iid, after: 0 })))
    return loaded.reduce((sum, { tasks }) => sum + tasks.length, 0)
  },
  remove: (store) => store.remove(some((n) => `gone-${n}`)),
  aboutTo: async (store, { runtime }) => Number(await store.aboutTo(runtime, 1, 1, 'charge')),
  'claim of instances': async (store, runtime) =>
    (await store.claim({ ...runtime, limit: BATCH, hinted: [] })).claims.length,
}

/** What they answer with when the tables are full. */
const COUNTS = {
  'claim: of one activity': BATCH,
  'claim: of any tag': 2 * BATCH,
  'claim: of several activities': BATCH,
  'claim: one': 1,
  'finish: completed': BATCH,
  'finish: another attempt': BATCH,
  beat: BATCH,
  'beat: at the owner': BATCH,
  tick: BATCH,
  'tick: nothing served': 0,
  'commit: new tasks, and some dropped': BATCH,
  'commit: ends': BATCH,
  'commit: next executions': BATCH,
  load: 2 * BATCH + 2,
  remove: BATCH,
  aboutTo: 1,
  'claim of instances': BATCH,
  leave: 0,
}

/** Leaves, and answers with how many tasks the runtime still holds. */
async function leave(store: WorkflowStore, { runtime }: Registered): Promise<number> {
  await store.unregister(runtime)
  return countTrue(
    store.beat(
      runtime,
      heldOnes().map((attempt) => ({ ...attempt, ...SILENT })),
    ),
  )
}

const SILENT = { details: null, silentMs: null, local: null }

async function claimTasks(
  store: WorkflowStore,
  { runtime }: Registered,
  interest: TaskInterest,
  limit = BATCH,
): Promise<number> {
  const room = { maxSessions: 10, sessionIdleMs: 3_600_000 }
  return (await store.claimTasks({ runtime, limit, ...room, ...interest })).tasks.length
}

async function finish(
  store: WorkflowStore,
  { runtime }: Registered,
  endOf: (i: number) => TaskEnd,
): Promise<number> {
  const results = heldOnes().map((attempt, i) => ({ ...attempt, end: endOf(i) }))
  const verdicts = await store.finishTasks(runtime, results)
  return verdicts.filter(({ verdict }) => verdict === 'done').length
}

async function commit(
  store: WorkflowStore,
  runtime: Registered,
  more: (iid: number) => Partial<TurnItem>,
): Promise<number> {
  const turns = some((iid) => item(iid, more(iid)))
  const answer = await store.commit(batch(runtime, { turns }))
  return answer.state === 'ok' ? answer.turns.filter((verdict) => verdict === 'done').length : -1
}

async function countTrue(answers: Promise<readonly boolean[]>): Promise<number> {
  return (await answers).filter(Boolean).length
}

function another(store: WorkflowStore): Promise<Registered> {
  const workflows = [{ name: 'order', version: '1' }]
  return store.register({ leaseMs: 3_600_000, info: '', workflows })
}

function newTask(command: number, more: Partial<NewTask> = {}): NewTask {
  return {
    command,
    token: 7,
    activity: 'charge',
    input: 'x',
    tag: '',
    session: '',
    options: '',
    attempts: 0,
    startBy: null,
    limit: null,
    ...more,
  }
}

function effects(more: Partial<Effects>): Effects {
  return {
    parked: [],
    closes: [],
    clearsState: false,
    state: [],
    progress: null,
    replies: [],
    tasks: [],
    dropsTasks: [],
    ...more,
  }
}

/** A batch of items for the first instances. */
function some<T>(make: (iid: number) => T): T[] {
  return Array.from({ length: BATCH }, (_, i) => make(i + 1))
}

/** The second task of each of these instances is held by the runtime. */
function heldOnes(): (TaskKey & { token: null; attempt: number })[] {
  return some((iid) => ({ iid, execution: 1, command: 2, token: null, attempt: 1 }))
}

/** Brings about what the calls reach only with tasks that are there: all is planned then. */
async function livesOfAFew(store: WorkflowStore, runtime: Registered): Promise<void> {
  const [iid] = [await store.reserve(1)]
  const limit = { key: 'k', concurrency: 5, rate: { count: 10, perMs: 1_000 } }
  const tasks = [
    newTask(1),
    newTask(2, { session: 's' }),
    newTask(3, { limit }),
    newTask(4, { startBy: 1 }),
    newTask(5, { tag: 'gpu' }),
  ]
  await store.commit(
    batch(runtime, { starts: [start(runtime, iid, { effects: effects({ tasks }) })] }),
  )
  await claimTasks(store, runtime, ANY_TAG)
  const keys = [1, 2, 3, 5].map((command) => ({
    iid,
    execution: 1,
    command,
    token: 7,
    attempt: 1,
  }))
  await store.beat(
    runtime.runtime,
    keys.map((key) => ({ ...key, details: null, silentMs: 0, local: null })),
  )
  await claimTasks(store, runtime, ANY_TAG)
  await store.finishTasks(
    runtime.runtime,
    keys.map((key, i) => ({
      ...key,
      attempt: 2,
      end: i === 0 ? { kind: 'failed', payload: '' } : { kind: 'retry', delayMs: 0 },
    })),
  )
  await store.terminate([{ id: `order-${iid}`, output: 'x', events: 'x' }])
  await store.remove([`order-${iid}`])
}

/**
 * A batch of instances that the runtime owns, each with a task in the line and one that it holds; and
 * many tasks of all the kinds that it must pass by.
 */
async function fill(database: TestSchema, { runtime, workflows }: Registered): Promise<void> {
  // Not truncate, after which the server would plan anew.
  for (const table of [...TABLES, 'history']) await database.query(`delete from ${table}`)
  await database.query(
    `insert into instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'order-' || i, $1::int, 1, 1, 0, 0 from generate_series(1, $2::int) as i
    union all
    select $2::int * 2 + i, 'gone-' || i, $1::int, 1, 2, 0, 0 from generate_series(1, $3::int) as i`,
    [workflows[0], MANY, BATCH],
  )
  await database.query(
    `insert into runs (iid, workflow, owner, epoch, wake_at, attempts, has_tasks)
    select
      i, $1, case when i <= $3 then $2::int end, 1, case when i > $3 then 0 end,
      -- Two owners died with most; between them are some with which none did.
      case when i > $3 and i % 100 > 0 then 2 else 0 end,
      true
    from generate_series(1, $4::int) as i`,
    [workflows[0], runtime, BATCH, MANY],
  )
  await database.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    select i, 1, 1, 1, 0, 1, 1, 'x' from generate_series(1, $1::int) as i`,
    [MANY],
  )
  await database.query(
    `insert into inbox (iid, kind, execution, command, payload, parked)
    select i + $1::int, 1, 1, 9, 'x', true from generate_series(1, $2::int) as i`,
    [BATCH, MANY],
  )
  // The lines that must be passed by come first, so that they are in the way of the others.
  const kinds: readonly (readonly [command: number, columns: string, values: string])[] = [
    [10, 'activity, tag, lane', `'other', '', 0`],
    [11, 'activity, tag, lane', `'charge', 'elsewhere', 0`],
    [12, 'activity, tag, lane, session', `'charge', '', task_lane('theirs', null, 0), 'theirs'`],
    [
      13,
      'activity, tag, lane, limit_key, concurrency',
      `'charge', '', task_lane(null, '=closed', 0), '=closed', 1`,
    ],
    [14, 'activity, tag, lane, visible_at', `'charge', '', 0, ${FAR}`],
    [15, 'activity, tag, lane, held_by, beat_until', `'charge', '', 0, ${OTHER_RUNTIME}, ${FAR}`],
    [16, 'activity, tag, lane, start_by', `'charge', '', null, 1`],
    [17, 'activity, tag, lane, deaths', `'charge', '', task_lane(null, null, 2), 2`],
  ]
  for (const [command, columns, values] of kinds) {
    await database.query(
      `insert into tasks (iid, execution, command, attempts, input, options, ${columns})
      select i + $1::int, 1, $2::int, 0, 'x', '', ${values} from generate_series(1, $3::int) as i`,
      [BATCH, command, MANY],
    )
  }
  await database.query(
    `insert into tasks (iid, execution, command, attempts, held_by, input, options, activity, tag, lane)
    select i, 1, c, c - 1, case when c = 2 then $1::int end, 'x', '', 'charge', '', 0
    from generate_series(1, $2::int) as i, generate_series(1, 2) as c`,
    [runtime, BATCH],
  )
  await database.query(
    `insert into tasks (iid, execution, command, attempts, held_by, input, options, activity, tag, lane,
      session, limit_key, concurrency, deaths)
    values
      (1, 1, 50, 1, $1::int, 'x', '', 'charge', '', 0, 'theirs', '=closed', 1, 0),
      (1, 1, 51, 1, $2::int, 'x', '', 'charge', '', 0, null, null, null, 2)`,
    [OTHER_RUNTIME, runtime],
  )
  await database.query(
    `insert into sessions (session, runtime, touched_at)
    select 'theirs', $1::int, $2::bigint
    union all
    select 's' || i, $1::int, $2::bigint from generate_series(1, $3::int) as i`,
    [OTHER_RUNTIME, FAR, MANY],
  )
  await database.query(
    `insert into limits (limit_key, spent_until)
    select '=' || i, $1::bigint from generate_series(1, $2::int) as i`,
    [FAR * 1_000, MANY],
  )
  await database.query(
    `insert into runtimes (runtime, state, lease_until, registered_at, info)
    values ($1, 1, $2, 0, '')`,
    [OTHER_RUNTIME, FAR],
  )
}
