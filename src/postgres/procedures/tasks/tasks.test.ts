import { Pool, type Client } from 'pg'
import { expect, test } from 'vitest'

import {
  batch,
  commitTurns,
  item,
  openStore,
  start,
  startOwned,
  ticking,
  turn,
  waitForLock,
  type TestStore,
} from '../../../../test/support/postgres-store.ts'
import type { Effects } from '../../../store/commits.ts'
import type { Registered } from '../../../store/runtimes.ts'
import type { NewTask, TaskKey, TaskRequest } from '../../../store/tasks.ts'
import type { PgPool } from '../../connect/driver.ts'
import { postgresWorkflowStore } from '../../workflow-store.ts'

// What only shows where several connections are at work at once. The rest is in the contract suite.

const LEASE_MS = 1000

test('dropping a task does not wait for a transaction of a user that has it locked', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [dropping, ending, going] = await asking(opened, runtime, 3)
  const user = await locking(opened)

  const verdicts = await commitTurns(store, runtime, [
    item(dropping!, { turn: turn(2), effects: effects({ dropsTasks: [1] }) }),
    item(ending!, {
      turn: turn(2),
      next: { kind: 'end', end: { status: 'completed', output: '1' } },
    }),
    item(going!, {
      turn: turn(2),
      next: {
        kind: 'continue',
        started: turn(1, { execution: 2 }),
        workflow: runtime.workflows[0]!,
        keep: true,
      },
    }),
  ])
  await store.tick(ticking(runtime))
  const during = await rowsOf(opened)
  await user.query('rollback')
  await store.tick(ticking(runtime))

  expect(verdicts).toEqual(['done', 'done', 'done'])
  expect(during).toEqual({ tasks: 3, unwanted: 3 })
  expect(await rowsOf(opened)).toEqual({ tasks: 0, unwanted: 0 })
})

test('a task that was locked when its instance ended is not handed out', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [iid] = await asking(opened, runtime, 1)
  const user = await locking(opened)
  await store.terminate([{ id: `order-${iid}`, output: 'x', events: 'x' }])
  await user.query('rollback')

  const { tasks } = await store.claimTasks(request(runtime))

  expect(tasks).toEqual([])
  expect(await rowsOf(opened)).toEqual({ tasks: 0, unwanted: 1 })
})

test('a task that replaces a dropped one is not dropped with it', async () => {
  await using opened = await openStore()
  const { store } = opened
  const runtime = await opened.runtime()
  const [iid] = await asking(opened, runtime, 1)
  const user = await locking(opened)
  const drops = { turn: turn(2), effects: effects({ dropsTasks: [1] }) }
  await commitTurns(store, runtime, [item(iid!, drops)])
  await user.query('delete from tasks')
  await user.query('commit')
  const asks = { turn: turn(3), effects: effects({ tasks: [newTask(1)] }) }
  await commitTurns(store, runtime, [item(iid!, asks)])

  await store.tick(ticking(runtime))

  expect(await rowsOf(opened)).toEqual({ tasks: 1, unwanted: 0 })
})

test.each([
  // When the server came up, and how many deaths that counts.
  ['dead', 0, 1],
  ['cut off by a server that was away', 10_000 + LEASE_MS, 0],
])(
  'a task that is locked when its runtime is found %s is freed by a later tick',
  async (_, since, deaths) => {
    await using opened = await openStore()
    const { store } = opened
    await opened.setClock(10_000)
    const old = await opened.runtime(LEASE_MS)
    const young = await opened.runtime(10 * LEASE_MS)
    const iids = await asking(opened, young, 2)
    await store.claimTasks(request(old))
    const user = await locking(opened, iids[0])
    await opened.setClock(10_000 + LEASE_MS)
    await opened.database.query(
      `create or replace function ${opened.database.schema}.server_since()
      returns bigint language sql stable as 'select ${since}::bigint'`,
    )

    await store.tick(ticking(young))
    const first = await store.claimTasks(request(young))
    await user.query('rollback')
    await store.tick(ticking(young))
    const second = await store.claimTasks(request(young))

    // The one before may still be at it, so that theirs are attempts of their own.
    expect(first.tasks).toMatchObject([{ iid: iids[1], attempt: 2, deaths }])
    expect(second.tasks).toMatchObject([{ iid: iids[0], attempt: 2, deaths }])
  },
)

test('two concurrent claims share the tasks, and neither waits', async () => {
  await using opened = await openStore()
  const [one, other] = [await opened.runtime(), await opened.runtime()]
  await asking(opened, one, 10)
  const claiming = await midClaim(opened, one, 3)

  const few = await opened.store.claimTasks(request(other, { limit: 2 }))
  const rest = await opened.store.claimTasks(request(other))
  await claiming.query('commit')

  expect(few.tasks).toHaveLength(2)
  expect(rest.tasks).toHaveLength(5)
})

test('a claim under a limit blocks other claims of that limit only, and they try again soon', async () => {
  await using opened = await openStore()
  const [one, other] = [await opened.runtime(), await opened.runtime()]
  const limit = { key: 'bank', concurrency: 2, rate: null }
  await asking(opened, one, 3, { limit })
  const [free] = await asking(opened, one, 1)
  const claiming = await midClaim(opened, one, 1)

  const during = await opened.store.claimTasks(request(other))
  await claiming.query('commit')
  const after = await opened.store.claimTasks(request(other))

  expect(during.tasks.map(({ iid }) => iid)).toEqual([free])
  expect(during.nextDue! - during.clock).toBeLessThanOrEqual(1000)
  expect(after.tasks).toHaveLength(1)
})

test('concurrent claims of an instance and a task get one quarantined one', async () => {
  await using opened = await openStore()
  const runtime = await opened.runtime()
  const [waiting] = await asking(opened, runtime, 1)
  const [free] = await asking(opened, runtime, 1)
  const died = `with died as (update tasks set deaths = 2 where iid = $1)
    update runs set owner = null, wake_at = 0, attempts = 2 where iid = $2`
  await opened.database.query(died, [waiting, free])
  const claiming = await midClaim(opened, runtime, 10)

  const claim = opened.store.claim({ ...runtime, limit: 10, hinted: [] })
  await waitForLock(opened.database, 'advisory')
  await claiming.query('commit')

  expect(
    await opened.database.query('select iid::int from tasks where held_by is not null'),
  ).toEqual(expect.arrayContaining([{ iid: waiting }]))
  expect((await claim).claims).toEqual([])
})

test('a rate that was used up by a later clock is closed until then', async () => {
  await using opened = await openStore()
  await opened.setClock(20_000)
  const runtime = await opened.runtime(3_600_000)
  const limit = { key: 'bank', concurrency: null, rate: { count: 2, perMs: 1_000 } }
  await asking(opened, runtime, 3, { limit })
  const first = await opened.store.claimTasks(request(runtime))

  await opened.setClock(10_000)
  const second = await opened.store.claimTasks(request(runtime))

  expect(first).toMatchObject({ tasks: [{}, {}], nextDue: 20_500 })
  expect(second).toMatchObject({ tasks: [], nextDue: 20_500 })
})

test('a session that another runtime is claiming is skipped, and nothing waits', async () => {
  await using opened = await openStore()
  const [one, other] = [await opened.runtime(), await opened.runtime()]
  await asking(opened, one, 3, { session: 'upload' })
  const [free] = await asking(opened, one, 1)
  const claiming = await midClaim(opened, one, 1)

  const during = await opened.store.claimTasks(request(other))
  await claiming.query('commit')
  const after = await opened.store.claimTasks(request(other))
  const own = await opened.store.claimTasks(request(one))

  expect(during.tasks.map(({ iid }) => iid)).toEqual([free])
  expect(after.tasks).toEqual([])
  expect(own.tasks).toHaveLength(2)
})

test('a heartbeat does not wait for a transaction that has locked the task', async () => {
  await using opened = await openStore()
  const runtime = await opened.runtime()
  await asking(opened, runtime, 2)
  const { tasks } = await opened.store.claimTasks(request(runtime))
  const user = await locking(opened, tasks[0]!.iid)

  const wanted = await opened.store.beat(
    runtime.runtime,
    tasks.map((task) => ({
      ...keyOf(task),
      token: 7,
      attempt: 1,
      details: '1',
      silentMs: 5,
      local: null,
    })),
  )
  await user.query('rollback')

  expect(wanted).toEqual([true, true])
  expect(await opened.database.query('select beat from tasks order by number')).toEqual([
    { beat: null },
    { beat: '1' },
  ])
})

test('results wait for the transaction that has their task locked, and then see its outcome', async () => {
  await using opened = await openStore()
  const runtime = await opened.runtime()
  const [removed] = await asking(opened, runtime, 2)
  const { tasks } = await opened.store.claimTasks(request(runtime))
  const user = await locking(opened)
  await user.query('delete from tasks where iid = $1', [removed])

  const finishing = opened.store.finishTasks(
    runtime.runtime,
    tasks.map((task) => ({
      ...keyOf(task),
      token: 7,
      attempt: 1,
      end: { kind: 'completed', payload: '"late"' },
    })),
  )
  await waitForLock(opened.database, 'transactionid')
  await user.query('commit')

  const owner = runtime.runtime
  expect(await finishing).toEqual([
    { verdict: 'gone', owner },
    { verdict: 'done', owner },
  ])
  expect(await opened.database.query('select iid from inbox')).toHaveLength(1)
})

test('more closed lanes than one claim examines hide no task forever', async () => {
  await using opened = await openStore()
  const { store } = opened
  const [one, other] = [await opened.runtime(), await opened.runtime()]
  const [iid] = await startOwned(store, one, 1)
  const ask = (turnNumber: number, tasks: readonly NewTask[]) =>
    commitTurns(store, one, [item(iid!, { turn: turn(turnNumber), effects: effects({ tasks }) })])
  const closed = Array.from({ length: 1200 }, (_, i) => newTask(i, { session: `of-one-${i}` }))
  await ask(2, closed)
  for (let held = 0; held < closed.length;) {
    held += (await store.claimTasks(request(one, { limit: 1200, maxSessions: 1200 }))).tasks.length
  }
  await ask(
    3,
    closed.map((task) => ({ ...task, command: task.command + 2000 })),
  )
  const open = Array.from({ length: 20 }, (_, i) => newTask(5000 + i, { session: `of-any-${i}` }))
  await ask(4, open)

  const found: string[] = []
  // Each looks at most lines, some of them by chance: that this many miss one is out of the
  // question.
  for (let i = 0; i < 200 && found.length < open.length; i++) {
    const { tasks, nextDue, clock } = await store.claimTasks(request(other, { maxSessions: 20 }))
    expect(nextDue).toBeLessThanOrEqual(clock + 1000)
    found.push(...tasks.map(({ session }) => session))
  }

  expect(found.toSorted()).toEqual(open.map(({ session }) => session).toSorted())
})

test('a turn, a release and an end of an instance without tasks never read tasks', async () => {
  await using opened = await openStore()
  const pool = new Pool({ connectionString: opened.database.url, max: 1 })
  const store = postgresWorkflowStore({
    source: { pool: pool as unknown as PgPool },
    schema: opened.database.schema,
  })
  await store.open()
  const runtime = await opened.runtime()
  const [turning, releasing, ending, going] = await startOwned(opened.store, runtime, 4)

  await pool.query('begin')
  const verdicts = await commitTurns(store, runtime, [
    item(turning!, { turn: turn(2), effects: effects({ progress: 'x' }) }),
    item(releasing!, { next: { kind: 'release', wakeAt: 1 } }),
    item(ending!, {
      turn: turn(2),
      next: { kind: 'end', end: { status: 'completed', output: '1' } },
    }),
    item(going!, {
      turn: turn(2),
      next: {
        kind: 'continue',
        started: turn(1, { execution: 2 }),
        workflow: runtime.workflows[0]!,
        keep: true,
      },
    }),
  ])
  const { rows } = await pool.query(
    `select coalesce(sum(seq_scan + idx_scan), 0)::int as looks
    from pg_stat_xact_user_tables
    where schemaname = $1
      and relname = 'tasks'`,
    [opened.database.schema],
  )
  await pool.query('rollback')
  await store.close()
  await pool.end()

  expect(verdicts).toEqual(['done', 'done', 'done', 'done'])
  expect(rows).toEqual([{ looks: 0 }])
})

/** Starts instances that the runtime owns, each with one task. */
async function asking(
  { store }: TestStore,
  runtime: Registered,
  count: number,
  more: Partial<NewTask> = {},
): Promise<number[]> {
  const first = await store.reserve(count)
  const iids = Array.from({ length: count }, (_, i) => first + i)
  const starts = iids.map((iid) =>
    start(runtime, iid, { effects: effects({ tasks: [newTask(1, more)] }) }),
  )
  await store.commit(batch(runtime, { starts }))
  return iids
}

/** A transaction that has tasks locked: those of one instance, or all. */
async function locking({ database }: TestStore, iid?: number): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  await client.query('select from tasks where iid = coalesce($1, iid) for update', [iid ?? null])
  return client
}

/** A claim of tasks, as far as it gets before its transaction ends. */
async function midClaim(
  { database }: TestStore,
  { runtime }: Registered,
  limit: number,
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  await client.query(`select * from claim_tasks($1, $2, 10, 60000, 'charge', 1, '', 1, false)`, [
    runtime,
    limit,
  ])
  return client
}

async function rowsOf({ database }: TestStore): Promise<Record<string, number>> {
  const [row] = await database.query<Record<string, number>>(
    `select
      (select count(*)::int from tasks) as tasks,
      (select count(*)::int from unwanted_tasks) as unwanted`,
  )
  return row!
}

function request({ runtime }: Registered, more: Partial<TaskRequest> = {}): TaskRequest {
  return {
    runtime,
    limit: 100,
    maxSessions: 10,
    sessionIdleMs: 60_000,
    activities: ['charge'],
    served: { untagged: true, tags: [] },
    ...more,
  }
}

function newTask(command: number, more: Partial<NewTask> = {}): NewTask {
  return {
    command,
    token: 7,
    activity: 'charge',
    input: '1',
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

function keyOf({ iid, execution, command }: TaskKey): TaskKey {
  return { iid, execution, command }
}
