import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../src/base/time/clock.ts'
import { compression } from '../../src/base/codec/compression.ts'
import { encryption } from '../../src/base/codec/encryption.ts'
import { type Transform, TransformChain } from '../../src/base/codec/transform.ts'
import { silentLog } from '../../src/base/log.ts'
import { SharedNotifier } from '../../src/postgres/notifier/shared-notifier.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { Database } from '../../src/sqlite/file/database.ts'
import type { OperationName } from '../../src/sqlite/thread/table.ts'
import type { SqliteSettings } from '../../src/sqlite/connect/options.ts'
import { SqliteThread } from '../../src/sqlite/thread/thread.ts'
import { SqliteWorkflowStore } from '../../src/sqlite/workflow-store.ts'
import { ItemWrapper } from '../../src/store/wrapped-items.ts'
import { WrappedStore } from '../../src/store/wrapped-store.ts'
import type { HintReceiver, HintSubscription } from '../../src/store/hints.ts'
import type { Iid } from '../../src/store/instances.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import type { RowCounts, StoreUnderTest } from '../../src/testing/contract/store-under-test.ts'
import { anySql } from './any-sql.ts'
import { reuseSchema } from './reused-schemas.ts'
import { reuseWorker } from './reused-threads.ts'
import { settingsFor, tempFile } from './sqlite.ts'

// The two stores with the knobs of the contract suite, and SQL behind them.

/** A store whose tables can be got at. */
export interface OpenedStore extends StoreUnderTest {
  /** Runs SQL on the tables, one statement, with `?` for each value. */
  sql<Row = Record<string, unknown>>(
    text: string,
    ...values: (string | number | null)[]
  ): Promise<Row[]>
}

type Sql = OpenedStore['sql']

/** A store in a file of its own, or in memory. */
export async function openSqlite({
  path,
  ...given
}: Partial<SqliteSettings> = {}): Promise<OpenedStore> {
  const file = tempFile()
  const settings = settingsFor(path ?? file.path, given)
  const stores: SqliteWorkflowStore[] = []
  const shared = settings.path === ':memory:' ? peepholeThread(settings) : undefined
  let offsetMs = 0
  const another = async (thread = shared ?? new SqliteThread(settings, reuseWorker)) => {
    const store = new SqliteWorkflowStore(thread, shared && (async () => {}))
    store.advanceClock(offsetMs)
    stores.push(store)
    await store.open()
    return store
  }
  const store = await another()
  const looking = shared === undefined ? lookIntoFile(settings) : lookIntoMemory(shared)
  const { sql } = looking

  return {
    store,
    another: () => another(),
    sql,
    ...knobs(sql),
    async advance(ms) {
      offsetMs += ms
      for (const open of stores) open.advanceClock(ms)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(stores.map((open) => open.close()))
      await looking.close()
      file[Symbol.dispose]()
    },
  }
}

interface PostgresOptions {
  readonly prefix?: string
  readonly hints?: boolean
  readonly prepare?: Parameters<typeof reuseSchema>[1]
}

/**
 * A store in a schema that no other test uses meanwhile, which `reuseSchema` explains. With `hints`,
 * each connection has a listener, as in a process of its own.
 */
export async function openPostgres({
  prefix = 'contract',
  hints = false,
  prepare,
}: PostgresOptions = {}): Promise<OpenedStore> {
  const reused = await reuseSchema(prefix, prepare)
  const { database, url } = reused
  const { schema } = database
  const stores: WorkflowStore[] = []
  const listening: HintSubscription[] = []
  const another = async (): Promise<WorkflowStore> => {
    const notifier = hints ? new SharedNotifier({ url }) : undefined
    const store = postgresWorkflowStore({ source: { url }, schema }, notifier)
    stores.push(store)
    await store.open()
    if (hints) listening.push(store.hints!.listen(silentListener()))
    return store
  }
  const store = await another()
  const sql: Sql = (text, ...values) => {
    let count = 0
    return database.query(
      text.replaceAll('?', () => `$${++count}`),
      values,
    )
  }
  let offsetMs = 0

  return {
    store,
    another,
    sql,
    ...knobs(sql),
    async advance(ms) {
      offsetMs += ms
      await database.query(
        `create or replace function ${quoted(schema)}.now_ms()
          returns bigint
          language plpgsql
          volatile
          set search_path from current
          as 'begin return floor(extract(epoch from clock_timestamp()) * 1000) + ${offsetMs}; end'`,
      )
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(listening.map((connection) => connection.close()))
      await Promise.all(stores.map((open) => open.close()))
      await reused[Symbol.asyncDispose]()
    },
  }
}

/** Receives everything and does nothing about it. */
function silentListener(): HintReceiver {
  return {
    clock: systemClock(),
    log: silentLog,
    interest: () => ({ runtime: 0, workflows: [], tasks: null, ownedTasks: [] }),
    receive() {},
    poll: async () => false,
  }
}

/** What is plain SQL on both. */
function knobs(sql: Sql): Pick<StoreUnderTest, 'corrupt' | 'kill' | 'attempts' | 'rows'> {
  const count = async (table: string, iid: Iid): Promise<number> => {
    const [row] = await sql<{ n: number | string }>(
      `select count(*) as n from ${table} where iid = ?`,
      iid,
    )
    return Number(row!.n)
  }
  return {
    async corrupt(iid) {
      await sql(
        `update history set events = 'damaged'
        where iid = ? and turn = (
          select max(last.turn) from history as last
          where last.iid = history.iid and last.execution = history.execution
        )`,
        iid,
      )
    },
    async kill(runtime) {
      // Just now: one that ended before the server was there would count for nothing.
      await sql('update runtimes set lease_until = ? where runtime = ?', Date.now() - 1, runtime)
    },
    async attempts(iid) {
      const [row] = await sql<{ attempts: number }>('select attempts from runs where iid = ?', iid)
      return row?.attempts
    },
    async rows(iid): Promise<RowCounts> {
      return {
        instances: await count('instances', iid),
        runs: await count('runs', iid),
        history: await count('history', iid),
        inbox: await count('inbox', iid),
        posted: await count('posted', iid),
        state: await count('state', iid),
      }
    },
  }
}

/** A second way into the tables. */
interface Looking {
  readonly sql: Sql
  close(): Promise<void>
}

/** Without a thread: starting one takes longer than most tests do. */
function lookIntoFile(settings: SqliteSettings): Looking {
  let database: Database | undefined
  return {
    async sql(text, ...values) {
      database ??= new Database(settings)
      return database.write('look', 0, (tx) => anySql(tx, text, ...values)) as never
    },
    async close() {
      database?.close()
    },
  }
}

function lookIntoMemory(thread: SqliteThread): Looking {
  return {
    sql: async (text, ...values) =>
      (await thread.call('sql' as OperationName, [text, ...values] as never)) as never,
    close: () => thread.close(),
  }
}

function peepholeThread(settings: SqliteSettings): SqliteThread {
  return new SqliteThread(
    settings,
    (workerData) =>
      new Worker(peepholeScript(), {
        workerData,
        eval: true,
        execArgv: ['--disable-warning=ExperimentalWarning'],
      }),
  )
}

let script: string | undefined

/** As `thread-entry.ts` does it. */
function peepholeScript(): string {
  if (script === undefined) {
    const require = createRequire(import.meta.url)
    const esbuild = require('esbuild') as {
      buildSync(options: object): { outputFiles: readonly { text: string }[] }
    }
    const source = new URL('../../src/sqlite/connect/driver.ts', import.meta.url)
    const { outputFiles } = esbuild.buildSync({
      entryPoints: [new URL('./sqlite-peephole.ts', import.meta.url).pathname],
      bundle: true,
      packages: 'external',
      platform: 'node',
      format: 'cjs',
      define: { 'import.meta.url': JSON.stringify(pathToFileURL(source.pathname).href) },
      write: false,
    })
    script = outputFiles[0]!.text
  }
  return script
}

/** The same store behind compression and encryption: whatever it promises still has to hold. */
export function encrypted(opened: StoreUnderTest): StoreUnderTest {
  const keys = [{ id: 'test', key: new Uint8Array(32).fill(7) }]
  const transforms = [compression({ threshold: 20 }), encryption({ keys })].map(ofSmallTexts)
  const items = new ItemWrapper(new TransformChain(transforms))
  return {
    ...opened,
    store: new WrappedStore(opened.store, items),
    another: async () => new WrappedStore(await opened.another(), items),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  }
}

/** The suite counts how many long texts are read at once, which is for the store to judge. */
function ofSmallTexts(transform: Transform): Transform {
  return {
    ...transform,
    encode: (bytes, about) => (bytes.length > 100_000 ? undefined : transform.encode(bytes, about)),
  }
}
