import { Client } from 'pg'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { type DriverName, openConnection } from '../../src/sqlite/connect/driver.ts'
import type { OutboxUnderTest } from '../../src/testing/outbox-contract/outbox-under-test.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { postgresUrl, type TestSchema } from './postgres.ts'
import { tempFile } from './sqlite.ts'
import { type OpenedStore, openPostgres, openSqlite } from './store-under-test.ts'

// The outbox on each store, with the knobs of its contract suite.

/** An outbox in a file of its own, and SQL behind it. */
export interface OpenedOutbox extends OutboxUnderTest {
  readonly sql: OpenedStore['sql']
  readonly path: string
}

/** The outbox of a SQLite file. */
export async function openSqliteOutbox({
  driver,
}: { driver?: DriverName } = {}): Promise<OpenedOutbox> {
  const file = tempFile()
  const { path } = file
  const under = await openSqlite({ path, driver })
  await under.sql(ENTRIES)
  // As the user has it. It waits for the store as any other connection does.
  const handle = openConnection(path, driver)
  handle.exec('pragma busy_timeout = 5000')

  return {
    ...(await knobs(under)),
    path,
    entries: 'entries',
    async openTransaction() {
      handle.exec('begin immediate')
      return {
        tx: handle,
        commit: async () => void handle.exec('commit'),
        rollback: async () => void handle.exec('rollback'),
      }
    },
    async [Symbol.asyncDispose]() {
      handle.close()
      await under[Symbol.asyncDispose]()
      file[Symbol.dispose]()
    },
  }
}

/** The outbox of a PostgreSQL schema. Each transaction has a connection of its own. */
export async function openPostgresOutbox({ prefix = 'outbox' } = {}): Promise<
  Omit<OpenedOutbox, 'path'>
> {
  const under = await openPostgres({ prefix, hints: true, prepare })
  const opened = await knobs(under)
  const [row] = await under.sql<{ schema: string }>('select current_schema() as schema')
  const clients: Client[] = []

  return {
    ...opened,
    entries: `${quoted(row!.schema)}.entries`,
    async openTransaction() {
      const client = new Client({ connectionString: postgresUrl() })
      clients.push(client)
      await client.connect()
      await client.query('begin')
      return {
        tx: client,
        commit: async () => void (await client.query('commit')),
        rollback: async () => void (await client.query('rollback')),
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.end()))
      await under[Symbol.asyncDispose]()
    },
  }
}

const ENTRIES = 'create table entries (entry text not null unique)'

async function prepare(store: WorkflowStore, database: TestSchema): Promise<void> {
  await store.outbox!('outbox').open()
  await database.query(ENTRIES)
}

/** What is the same on both, by plain SQL. */
async function knobs(
  under: OpenedStore,
): Promise<
  Omit<OpenedOutbox, 'path' | 'entries' | 'openTransaction' | typeof Symbol.asyncDispose>
> {
  const outbox = under.store.outbox!('outbox')
  await outbox.open()
  return {
    store: under.store,
    outbox,
    sql: (text, ...values) => under.sql(text, ...values),
    async another() {
      const store = await under.another()
      const other = store.outbox!('outbox')
      await other.open()
      return { store, outbox: other }
    },
    async openOutbox(prefix) {
      const other = under.store.outbox!(prefix)
      await other.open()
      return other
    },
    advance: (ms) => under.advance(ms),
    kill: (runtime) => under.kill(runtime),
    async count(table, prefix = 'outbox') {
      const [row] = await under.sql<{ n: number | string }>(
        `select count(*) as n from ${prefix}_${table}`,
      )
      return Number(row!.n)
    },
    async readEntries() {
      const rows = await under.sql<{ entry: string }>('select entry from entries order by entry')
      return rows.map(({ entry }) => entry)
    },
  }
}
