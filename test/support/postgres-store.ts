import type { Client } from 'pg'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import type { CommitBatch, StartItem, TurnItem, TurnRow, Verdict } from '../../src/store/commits.ts'
import type { Registered, TickRequest } from '../../src/store/runtimes.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { testSchema, type TestSchema } from './postgres.ts'
import { type ReusedSchema, reuseSchema } from './reused-schemas.ts'

/** A store in a schema of its own, with a clock that tests set. */
export interface TestStore extends AsyncDisposable {
  readonly store: WorkflowStore
  readonly database: TestSchema
  /** Another store on the same schema, closed with this one. */
  another(): WorkflowStore
  /** Stops the clock of the schema at this time. */
  setClock(ms: number): Promise<void>
  /** A runtime with the workflow `order`, version `1`. */
  runtime(leaseMs?: number): Promise<Registered>
}

/** Opens a store for one test. */
export async function openStore(): Promise<TestStore> {
  return openStoreIn(await reuseSchema('procedures'))
}

/** In a schema that no other test has used: what it deleted would be read, and counted. */
export async function openFreshStore(): Promise<TestStore> {
  const database = await testSchema()
  const { url } = database
  return openStoreIn({
    url,
    database,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  })
}

async function openStoreIn(place: Omit<ReusedSchema, 'prefix'>): Promise<TestStore> {
  const { database, url } = place
  const stores: WorkflowStore[] = []
  const another = (): WorkflowStore => {
    const store = postgresWorkflowStore({
      source: { url },
      schema: database.schema,
    })
    stores.push(store)
    return store
  }
  const store = another()
  await store.open()

  return {
    store,
    database,
    another,
    async setClock(ms) {
      await database.query(
        `create or replace function ${quoted(database.schema)}.now_ms()
          returns bigint
          language plpgsql
          volatile
          set search_path from current
          as 'begin return ${ms}; end'`,
      )
      await database.query(
        `create or replace function ${quoted(database.schema)}.server_since()
          returns bigint language sql stable as 'select 0::bigint'`,
      )
    },
    runtime: (leaseMs = 30_000) =>
      store.register({ leaseMs, info: 'test', workflows: [{ name: 'order', version: '1' }] }),
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((open) => open.close()))
      await place[Symbol.asyncDispose]()
    },
  }
}

/** A turn with one event, which names it. */
export function turn(number: number, more: Partial<TurnRow> = {}): TurnRow {
  const events = `event ${number}`
  return { execution: 1, turn: number, at: 1000, first: number, count: 1, events, ...more }
}

/** A start of the first workflow, owned by default. */
export function start(
  { workflows }: Registered,
  iid: number,
  more: Partial<StartItem> = {},
): StartItem {
  const workflow = workflows[0]!
  const id = `order-${iid}`
  return {
    iid,
    id,
    workflow,
    owned: true,
    wakeAt: null,
    turn: turn(1),
    end: null,
    parent: null,
    labels: '{}',
    messages: [],
    effects: null,
    ...more,
  }
}

/** What an owner writes; by default it keeps the instance. */
export function item(iid: number, more: Partial<TurnItem> = {}): TurnItem {
  return { iid, epoch: 1, turn: null, taken: [], effects: null, next: { kind: 'keep' }, ...more }
}

/** A batch of one runtime. */
export function batch(
  { runtime, server }: Registered,
  more: Partial<Pick<CommitBatch, 'starts' | 'turns'>>,
): CommitBatch {
  return { runtime, server, starts: [], turns: [], ...more }
}

/** Starts instances that the runtime owns and returns their numbers. */
export async function startOwned(
  store: WorkflowStore,
  registered: Registered,
  count: number,
): Promise<number[]> {
  const first = await store.reserve(count)
  const iids = Array.from({ length: count }, (_, i) => first + i)
  await store.commit(batch(registered, { starts: iids.map((iid) => start(registered, iid)) }))
  return iids
}

/** The verdicts of the turns; throws when the batch was not judged at all. */
export async function commitTurns(
  store: WorkflowStore,
  registered: Registered,
  turns: readonly TurnItem[],
): Promise<readonly Verdict[]> {
  const answer = await store.commit(batch(registered, { turns }))
  if (answer.state !== 'ok') throw new Error(`the batch was answered with ${answer.state}`)
  return answer.turns
}

/** A commit of one more turn, as far as it gets before its transaction ends. */
export async function midCommit(
  database: TestSchema,
  { runtime }: Registered,
  iid: number,
  epoch = 1,
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  await client.query('select enter($1)', [runtime])
  await client.query(
    `insert into history (iid, execution, turn, epoch, at, first, count, events)
    values ($1, 1, 2, $2, 0, 2, 1, 'event 2')`,
    [iid, epoch],
  )
  return client
}

/** By default, a tick of a runtime that runs no tasks. */
export function ticking(
  { runtime, workflows }: Registered,
  more: Partial<TickRequest> = {},
): TickRequest {
  return { runtime, workflows, tasks: null, unknown: [], ownedTasks: [], idle: false, ...more }
}

/** A tick, as far as it gets before its transaction ends. */
export async function midTick(
  database: TestSchema,
  { runtime, workflows }: Registered,
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  await client.query(
    `select * from tick($1, null, $2, '', 0, '', 0, false, '{}', '{}', '{}', '{}', false, '', 0)`,
    [runtime, workflows],
  )
  return client
}

/** A lease that is renewed, as far as that gets before its transaction ends. */
export async function midRenewal(
  database: TestSchema,
  { runtime }: Registered,
  leaseMs: number,
): Promise<Client> {
  const client = await database.connect()
  await client.query('begin')
  await client.query('select * from renew_lease($1, $2)', [runtime, leaseMs])
  return client
}

/** Until a call of this schema waits for such a lock: a signal that the server itself gives. */
export async function waitForLock(
  database: TestSchema,
  locktype: 'advisory' | 'transactionid',
): Promise<void> {
  for (;;) {
    const rows = await database.query(
      `select 1 from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and l.locktype = $1 and a.query like '%' || $2 || '%'`,
      [locktype, database.schema],
    )
    if (rows.length > 0) return
  }
}
