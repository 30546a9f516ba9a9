// What the tests of the engine share: a place to keep state, on each kind of store, in which
// runtimes and clients are opened one after the other or side by side.

import { describe } from 'vitest'

import {
  type Client,
  connect,
  type ConnectOptions,
  open,
  type OpenOptions,
  type Runtime,
  type Store,
} from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { SqliteThread } from '../../src/sqlite/thread/thread.ts'
import { SqliteWorkflowStore } from '../../src/sqlite/workflow-store.ts'
import { sqliteHistoryReader } from '../../src/sqlite/history-reader.ts'
import {
  OPEN_HISTORY_READER,
  OPEN_WORKFLOW_STORE,
  type StoreHandle,
} from '../../src/store/store.ts'
import { reuseSchema } from './reused-schemas.ts'
import { reuseWorker } from './reused-threads.ts'
import { settingsFor, tempFile } from './sqlite.ts'
import { memoryLog, type MemoryLog } from './workers.ts'

/** The stores on which the engine is tried. */
export const STORES = ['memory', 'file', 'postgres'] as const

/** The same, and PostgreSQL without hints. */
export const STORES_IN_BOTH_MODES = [...STORES, 'postgres without hints'] as const

/** One of them. */
export type StoreKind = (typeof STORES_IN_BOTH_MODES)[number]

/** A place of its own for one test. Whatever was opened in it is closed at its end. */
export interface Space extends AsyncDisposable {
  readonly store: Store
  /** What runtimes and clients without a log of their own wrote. */
  readonly log: MemoryLog
  open(register: OpenOptions['register'], options?: Partial<OpenOptions>): Promise<Runtime>
  connect(options?: ConnectOptions): Client
}

/** Makes a place on a store of this kind. */
export async function openSpace(kind: StoreKind): Promise<Space> {
  const log = memoryLog()
  const { store, remove } = await makeStore(kind)
  const opened: (() => Promise<void>)[] = []
  const keepClient = (client: Client): Client => {
    opened.push(() => client.close())
    return client
  }
  // A database in memory lasts as long as it is open.
  keepClient(connect(store))
  return {
    store,
    log,
    async open(register, options = {}) {
      const runtime = await open(store, { register, log, ...options })
      opened.push(() => runtime.close({ drain: 0 }))
      return runtime
    },
    connect: (options) => keepClient(connect(store, { log, ...options })),
    async [Symbol.asyncDispose]() {
      for (const close of opened.toReversed()) await close()
      await remove()
    },
  }
}

async function makeStore(
  kind: StoreKind,
): Promise<{ store: Store; remove: () => PromiseLike<void> | void }> {
  switch (kind) {
    case 'memory':
      return sqliteIn(':memory:')
    case 'file': {
      const file = tempFile()
      const { store, remove } = sqliteIn(file.path)
      return {
        store,
        async remove() {
          await remove()
          file[Symbol.dispose]()
        },
      }
    }
    case 'postgres':
    case 'postgres without hints': {
      const reused = await reuseSchema('engine')
      const { url, database } = reused
      const notify = kind === 'postgres' ? 'auto' : 'off'
      const store = postgres({ url, schema: database.schema, notify })
      return { store, remove: () => reused[Symbol.asyncDispose]() }
    }
  }
}

/** As `sqlite` makes it, with a thread that another store has done with, and that lasts to the end. */
function sqliteIn(path: string): { store: Store; remove: () => Promise<void> } {
  const thread = new SqliteThread(settingsFor(path), reuseWorker)
  const store: StoreHandle = {
    kind: 'sqlite',
    [OPEN_WORKFLOW_STORE]: () => new SqliteWorkflowStore(thread, async () => {}),
    [OPEN_HISTORY_READER]: () => sqliteHistoryReader(settingsFor(path)),
  }
  return { store, remove: () => thread.close() }
}

/** Runs a suite once per store. */
export function describeOnStores(
  name: string,
  suite: (kind: StoreKind) => void,
  stores: readonly StoreKind[] = STORES,
): void {
  describe.each(stores)(`${name}, on %s`, (kind) => {
    suite(kind)
  })
}

/** The same for tests that mostly wait, each with a place of its own: all at once. */
export function describeOnStoresAtOnce(
  name: string,
  suite: (kind: StoreKind) => void,
  stores: readonly StoreKind[] = STORES,
): void {
  describe.concurrent.each(stores)(`${name}, on %s`, (kind) => {
    suite(kind)
  })
}

// Longer than anything takes on a busy machine, and shorter than the limit of a test.
const EVENTUALLY_MS = 45_000

/** Asks again and again until the answer is not `undefined`, `false` or an empty list. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  for (const until = performance.now() + EVENTUALLY_MS; ;) {
    const answer = await ask()
    const empty = Array.isArray(answer) && answer.length === 0
    if (answer !== undefined && answer !== false && !empty) {
      return answer as Exclude<T, undefined | false>
    }
    if (performance.now() > until)
      throw new Error(`it did not happen within ${EVENTUALLY_MS / 1_000} s`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A promise and how it is settled. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
} {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
