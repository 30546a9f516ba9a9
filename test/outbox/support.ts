// What the tests of the outbox share: a place on each store, in which clients, outboxes and transactions
// of a user are opened. The tests of a file share one place, and each has topics of its own.

import { Pool, type PoolClient } from 'pg'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type Client, connect, type Store, type Transaction } from '../../src/index.ts'
import {
  type EnqueueItem,
  type Message,
  type Outbox,
  outbox,
  type OutboxOptions,
  type Topic,
  topic,
} from '../../src/outbox/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { sqlite } from '../../src/sqlite/index.ts'
import { RUNTIME } from '../../src/postgres/wire/numbers.ts'
import type { StorePlace } from '../e2e/store-place.ts'
import { testSchema } from '../support/postgres.ts'
import { tempFile } from '../support/sqlite.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'
import { openHandle } from '../transactions/sqlite-handle.ts'

/** The stores on which the outbox is tried. */
export const OUTBOX_STORES = ['sqlite', 'postgres'] as const

/** One of them. */
export type OutboxStoreKind = (typeof OUTBOX_STORES)[number]

/** A transaction of the user that is open. */
export interface OpenTransaction {
  readonly tx: Transaction
  readonly run: (text: string) => Promise<void>
  readonly commit: () => Promise<void>
  readonly rollback: () => Promise<void>
}

/** A store, and all that a test opens on it. */
export interface OutboxPlace {
  readonly kind: OutboxStoreKind
  readonly store: Store
  /** The same, for another process. */
  readonly where: StorePlace
  /** What clients and outboxes wrote since the test began. */
  readonly log: MemoryLog
  /** A table of the user with the columns `entry` and `note`. */
  readonly entries: string
  /** A topic that no other test uses, with one partition by default. */
  topic<T>(partitions?: number): Topic<T>
  /** A client of its own; it is closed when the test ends. */
  client(): Client
  /** An outbox, by default on a client of its own; it is stopped when the test ends. */
  outbox(options?: OutboxOptions, client?: Client): Outbox
  /** Begins a transaction of the user. On SQLite there is one at a time. */
  begin(): Promise<OpenTransaction>
  /** Enqueues in a transaction of its own, and commits it. */
  send<In>(
    to: Outbox,
    topic: Topic<In, unknown>,
    ...messages: readonly EnqueueItem<NoInfer<In>>[]
  ): Promise<void>
  /** Runs one statement on the tables, with `?` for each value. */
  sql<Row = Record<string, unknown>>(
    text: string,
    ...values: readonly (string | number)[]
  ): Promise<Row[]>
  /** Declares the runtime that delivers a topic now dead, as others do when its process was silent for long. */
  expireOwner(topic: Topic<never, unknown>, prefix?: string): Promise<void>
  /** What the table of the user has. */
  readEntries(note: string): Promise<string[]>
}

interface Database extends AsyncDisposable {
  readonly store: Store
  readonly where: StorePlace
  readonly entries: string
  begin(): Promise<OpenTransaction>
  sql(text: string, values: readonly (string | number)[]): Promise<unknown[]>
}

let topics = 0

/** Runs a suite once per store, in one place each. */
export function describeOutbox(
  name: string,
  suite: (place: OutboxPlace) => void,
  stores: readonly OutboxStoreKind[] = OUTBOX_STORES,
): void {
  describe.each(stores)(`${name}, on %s`, (kind) => {
    let database: Database
    const log = memoryLog()
    const opened: (() => Promise<unknown>)[] = []
    beforeAll(async () => {
      database = kind === 'sqlite' ? await onSqlite() : await onPostgres()
    })
    afterEach(async () => {
      // Outboxes first: a client would wait for them for as long as they may take.
      for (const close of opened.splice(0).toReversed()) await close()
      log.lines.length = 0
    })
    afterAll(() => database[Symbol.asyncDispose]())

    const place: OutboxPlace = {
      kind,
      log,
      get store() {
        return database.store
      },
      get where() {
        return database.where
      },
      get entries() {
        return database.entries
      },
      topic: (partitions = 1) => topic(`topic-${++topics}`, { partitions }),
      client() {
        const client = connect(database.store, { log })
        opened.push(() => client.close())
        return client
      },
      outbox(options, client = place.client()) {
        const box = outbox(client, options)
        opened.push(() => box.stop({ within: 200 }))
        return box
      },
      begin: () => database.begin(),
      async send(to, of, ...messages) {
        const transaction = await database.begin()
        try {
          await to.in(transaction.tx).enqueueMany(of, messages)
          await transaction.commit()
        } catch (error) {
          await transaction.rollback()
          throw error
        }
      },
      sql: async (text, ...values) => (await database.sql(text, values)) as never,
      async expireOwner({ name: of }, prefix = 'outbox') {
        await place.sql(
          `update runtimes set state = ?
           where runtime in (
             select p.owner from ${prefix}_partitions as p
             join ${prefix}_topics as t on t.topic = p.topic
             where t.name = ?
           )`,
          kind === 'sqlite' ? 'dead' : RUNTIME.dead,
          of,
        )
      },
      async readEntries(note) {
        const rows = await place.sql<{ entry: string }>(
          `select entry from ${database.entries} where note = ? order by entry`,
          note,
        )
        return rows.map(({ entry }) => entry)
      },
    }
    suite(place)
  })
}

const TABLE = '(entry text not null unique, note text not null)'

async function onPostgres(): Promise<Database> {
  const database = await testSchema('outbox')
  const { url, schema } = database
  await database.query(`create schema "${schema}"`)
  const entries = `"${schema}".entries`
  await database.query(`create table ${entries} ${TABLE}`)
  const pool = new Pool({ connectionString: url })
  // Those of a server that is stopped on purpose.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    store: postgres({ url, schema }),
    where: { kind: 'postgres', url, schema },
    entries,
    async begin() {
      const client = await pool.connect()
      await client.query('begin')
      return onConnection(client)
    },
    sql(text, values) {
      let count = 0
      return database.query(
        text.replaceAll('?', () => `$${++count}`),
        values,
      )
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** A transaction that was begun on a connection of a pool. */
export function onConnection(client: PoolClient): OpenTransaction {
  let isOver = false
  const end = async (text: string): Promise<void> => {
    if (isOver) return
    isOver = true
    try {
      await client.query(text)
      client.release()
    } catch (error) {
      client.release(true)
      throw error
    }
  }
  return {
    tx: client,
    run: async (text) => void (await client.query(text)),
    commit: () => end('commit'),
    rollback: () => end('rollback'),
  }
}

async function onSqlite(): Promise<Database> {
  const file = tempFile()
  const store = sqlite({ path: file.path, durability: 'os' })
  await created(store)
  const handle = openHandle(file.path)
  const looking = openHandle(file.path)
  for (const one of [handle, looking]) one.exec('pragma busy_timeout = 10000')
  handle.exec(`create table entries ${TABLE}`)
  let last: Promise<void> = Promise.resolve()
  return {
    store,
    where: { kind: 'sqlite', path: file.path },
    entries: 'entries',
    async begin() {
      const before = last
      let release!: () => void
      last = new Promise((resolve) => (release = resolve))
      await before
      handle.exec('begin immediate')
      let isOver = false
      const end = async (text: string): Promise<void> => {
        if (isOver) return
        isOver = true
        handle.exec(text)
        release()
      }
      return {
        tx: handle as unknown as Transaction,
        run: async (text) => void handle.exec(text),
        commit: () => end('commit'),
        rollback: () => end('rollback'),
      }
    },
    async sql(text, values) {
      const statement = looking.prepare(text) as unknown as {
        all(...given: readonly (string | number)[]): unknown[]
        run(...given: readonly (string | number)[]): unknown
      }
      if (/^\s*(select|with)/i.test(text)) return statement.all(...values)
      statement.run(...values)
      return []
    },
    async [Symbol.asyncDispose]() {
      handle.close()
      looking.close()
      file[Symbol.dispose]()
    },
  }
}

/** Has the file created: nothing of the user may come first. */
async function created(store: Store): Promise<void> {
  await using client = connect(store)
  await client.get('nothing').info()
}

/** A handler that remembers the messages it got, and does nothing else. */
export interface Recorder<T> {
  readonly seen: Message<T>[]
  readonly run: (message: Message<T>) => Promise<void>
  /** The payloads, in the order in which they came. */
  readonly payloads: () => T[]
}

/** Makes a handler that remembers. */
export function recorder<T = number>(): Recorder<T> {
  const seen: Message<T>[] = []
  return {
    seen,
    run: async (message) => void seen.push(message),
    payloads: () => seen.map(({ payload }) => payload),
  }
}

/** Items with these payloads. */
export function items<T>(payloads: readonly T[], more: object = {}): EnqueueItem<T>[] {
  return payloads.map((payload) => ({ payload, ...more }))
}

/** Numbers from 1 to `count`. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1)
}
