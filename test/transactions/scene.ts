// One instance that a runtime owns, and a table of the user beside those of the store.

import type { Queryable } from '../../src/postgres/transactions/transact-queries.ts'
import type { Statements } from '../../src/sqlite/transactions/transact-statements.ts'
import type { Effects } from '../../src/store/commits.ts'
import type { InboxRow } from '../../src/store/inbox.ts'
import type { Registered } from '../../src/store/runtimes.ts'
import type { NewTask } from '../../src/store/tasks.ts'
import type { Transact } from '../../src/store/transactions.ts'
import { batch, item, start, turn } from '../support/postgres-store.ts'
import { type OpenedStore, openPostgres, openSqlite } from '../support/store-under-test.ts'

/** Where `entries` of the user are kept, and how the code of a transaction adds one. */
export interface Scene extends AsyncDisposable {
  readonly under: OpenedStore
  readonly owner: Registered
  readonly iid: number
  /** The name of the user's table. */
  readonly table: string
  /** A transaction of command 1, by default by the owner. */
  work(code: Transact['code'], more?: Partial<Transact>): Transact
  /** The code that adds an entry and returns it. */
  adds(entry: string): Transact['code']
  entries(): Promise<string[]>
  inbox(): Promise<readonly InboxRow[]>
  /** The owner dies, and another runtime claims the instance. */
  takeOver(): Promise<Registered & { readonly epoch: number }>
  /** Makes a task of command 1, and hands it to a runtime. */
  makeTask(): Promise<{ readonly runtime: number; readonly attempt: number }>
}

/** A store of each kind whose transactions can be tried. */
export const STORES = [
  ['sqlite', openSqlite],
  ['postgres', openPostgres],
] as const

/** Sets the scene on a store. */
export async function openScene(open: () => Promise<OpenedStore>): Promise<Scene> {
  const under = await open()
  const { store } = under
  const table = await entriesTable(under)
  await under.sql(`create table ${table} (entry text not null)`)
  const workflows = [{ name: 'order', version: '1' }]
  const register = (): Promise<Registered> =>
    store.register({ leaseMs: 30_000, info: 'test', workflows })
  const owner = await register()
  const iid = await store.reserve(1)
  await store.commit(batch(owner, { starts: [start(owner, iid)] }))

  return {
    under,
    owner,
    iid,
    table,
    work: (code, more = {}) => ({
      iid,
      execution: 1,
      command: 1,
      runtime: owner.runtime,
      by: { epoch: 1, turn: 1 },
      code,
      ...more,
    }),
    adds: (entry) => (tx) => insertEntry(store.kind, tx, table, entry),
    async entries() {
      const rows = await under.sql<{ entry: string }>(`select entry from ${table} order by entry`)
      return rows.map(({ entry }) => entry)
    },
    async inbox() {
      const [loaded] = await store.load([{ iid, after: 0 }])
      return loaded!.inbox
    },
    async takeOver() {
      await under.kill(owner.runtime)
      const other = await register()
      const { runtime, workflows: numbers } = other
      const request = { runtime, workflows: numbers }
      await store.tick({ ...request, tasks: null, unknown: [], ownedTasks: [], idle: false })
      const claimed = await store.claim({ runtime, workflows: numbers, limit: 1, hinted: [iid] })
      return { ...other, epoch: claimed.claims[0]!.epoch }
    },
    async makeTask() {
      const effects: Effects = { ...NO_EFFECTS, tasks: [TASK] }
      await store.commit(batch(owner, { turns: [item(iid, { turn: turn(2), effects })] }))
      const { tasks } = await store.claimTasks({
        runtime: owner.runtime,
        activities: [TASK.activity],
        served: { untagged: true, tags: [] },
        limit: 1,
        maxSessions: 1,
        sessionIdleMs: 60_000,
      })
      return { runtime: owner.runtime, attempt: tasks[0]!.attempt }
    },
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  }
}

/** Tests on PostgreSQL share a database, so that a table needs the name of its schema. */
async function entriesTable(under: OpenedStore): Promise<string> {
  if (under.store.kind === 'sqlite') return 'entries'
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  return `"${row!.schema}".entries`
}

/** Adds an entry through the `tx` of either store; returns it, encoded. */
function insertEntry(
  kind: string,
  tx: unknown,
  table: string,
  entry: string,
): string | Promise<string> {
  const encoded = JSON.stringify(entry)
  if (kind === 'sqlite') {
    const statements = tx as Statements
    statements.run(`insert into ${table} values (?)`, entry)
    return encoded
  }
  const queryable = tx as Queryable
  return queryable.query(`insert into ${table} values ($1)`, [entry]).then(() => encoded)
}

const TASK: NewTask = {
  command: 1,
  token: 7,
  activity: 'pay',
  input: 'null',
  tag: '',
  session: '',
  options: '{}',
  attempts: 0,
  startBy: null,
  limit: null,
}

const NO_EFFECTS: Effects = {
  parked: [],
  closes: [],
  clearsState: false,
  state: [],
  progress: null,
  replies: [],
  tasks: [],
  dropsTasks: [],
}
