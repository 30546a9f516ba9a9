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
import { sqlite } from '../../src/sqlite/index.ts'
import { testSchema } from './postgres.ts'
import { tempFile } from './sqlite.ts'
import { memoryLog, type MemoryLog } from './workers.ts'

/** The stores on which the engine is tried. */
export const STORES = ['memory', 'file', 'postgres'] as const

/** The same, and PostgreSQL where processes tell each other nothing. */
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
  // A database in memory lasts as long as somebody uses it.
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
      return { store: sqlite({ path: ':memory:' }), remove: () => {} }
    case 'file': {
      const file = tempFile()
      const store = sqlite({ path: file.path, durability: 'os' })
      return { store, remove: () => file[Symbol.dispose]() }
    }
    case 'postgres':
    case 'postgres without hints': {
      const database = await testSchema('engine')
      const notify = kind === 'postgres' ? 'auto' : 'off'
      const store = postgres({ url: database.url, schema: database.schema, notify })
      return { store, remove: () => database[Symbol.asyncDispose]() }
    }
  }
}

/** Runs a suite once per store. */
export function describeOnStores(
  name: string,
  suite: (kind: StoreKind) => void,
  stores: readonly StoreKind[] = STORES,
): void {
  for (const kind of stores) {
    describe(`${name}, on ${kind}`, () => {
      suite(kind)
    })
  }
}

/** Asks again and again until the answer is not `undefined`, `false` or an empty list. */
export async function eventually<T>(
  ask: () => T | Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  for (const until = performance.now() + 15_000; ;) {
    const answer = await ask()
    const empty = Array.isArray(answer) && answer.length === 0
    if (answer !== undefined && answer !== false && !empty) {
      return answer as Exclude<T, undefined | false>
    }
    if (performance.now() > until) throw new Error('it did not happen within 15 s')
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
