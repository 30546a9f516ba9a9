// A process that enqueues messages, or handles them, until it is killed: `post.ts <order as JSON>`. It says
// `ready` once it does.
//
// Each message is enqueued to two topics, together with a row of `sent`: what is in that table was committed.

import { appendFileSync } from 'node:fs'
import { Client as PgClient } from 'pg'
import { silentLog } from '../../../src/base/log.ts'
import { connect, type Transaction } from '../../../src/index.ts'
import { type Outbox, outbox, topic } from '../../../src/outbox/index.ts'
import { storeOf, type StorePlace } from '../../e2e/store-place.ts'
import { randomFrom } from '../../e2e/random.ts'
import { openHandle } from '../../transactions/sqlite-handle.ts'

/** The order that a process gets. */
export interface PostOrder {
  readonly store: StorePlace
  readonly role: 'producer' | 'consumer'
  /** Where handlers without a transaction write down what they got. */
  readonly ledger: string
  /** No other process has it. */
  readonly name: string
  readonly seed: number
}

/** A message: the n-th of its key. */
export interface Post {
  readonly key: string
  readonly n: number
}

/** Handled in transactions. */
export const booked = topic<Post>('booked', { partitions: 4 })
/** Handled at least once. */
export const called = topic<Post>('called', { partitions: 4 })

const FOREVER = { maxAttempts: 1e9, retry: { delay: 10, maxDelay: 100 }, batchSize: 5 }

/** Adds the handlers. */
export function handlePosts(box: Outbox, tables: string, ledger: string): void {
  box.handleTransactional(
    booked,
    async ({ payload, partition, seq }, { tx }) => {
      await tx.query(`insert into ${tables}got (key, n, partition, seq) values ($1, $2, $3, $4)`, [
        payload.key,
        payload.n,
        partition,
        seq,
      ])
    },
    FOREVER,
  )
  box.handle(
    called,
    async ({ payload: { key, n } }) => appendFileSync(ledger, `${key} ${n}\n`),
    FOREVER,
  )
}

/** Where the tables of the user are. */
export function tablesOf(place: StorePlace): string {
  return place.kind === 'sqlite' ? '' : `"${place.schema}".`
}

if (process.argv[2] !== undefined) await main(JSON.parse(process.argv[2]) as PostOrder)

async function main({ store, role, ledger, name, seed }: PostOrder): Promise<void> {
  const client = connect(storeOf(store), { log: silentLog })
  const box = outbox(client)
  if (role === 'consumer') {
    handlePosts(box, tablesOf(store), ledger)
    await box.start()
    process.stdout.write('ready\n')
    return
  }
  const user = await openUser(store)
  process.stdout.write('ready\n')
  const random = randomFrom(seed)
  const counts = new Map<string, number>()
  for (;;) {
    await user.run('begin')
    const added: Post[] = []
    for (let i = 1 + Math.floor(random() * 3); i > 0; i--) {
      const key = `${name}.${Math.floor(random() * 5)}`
      const n = (counts.get(key) ?? 0) + 1
      counts.set(key, n)
      added.push({ key, n })
      await user.run(`insert into ${tablesOf(store)}sent (key, n) values ('${key}', ${n})`)
      await box.in(user.tx).enqueue(booked, { key, n }, { key })
      await box.in(user.tx).enqueue(called, { key, n }, { key })
    }
    if (random() < 0.1) {
      await user.run('rollback')
      for (const { key } of added) counts.set(key, counts.get(key)! - 1)
    } else {
      await user.run('commit')
    }
    // Others want the file as well.
    await new Promise((resolve) => setTimeout(resolve, 2 + random() * 8))
  }
}

async function openUser(
  place: StorePlace,
): Promise<{ readonly tx: Transaction; readonly run: (text: string) => Promise<unknown> }> {
  if (place.kind === 'postgres') {
    const sql = new PgClient({ connectionString: place.url })
    await sql.connect()
    return { tx: sql, run: (text) => sql.query(text) }
  }
  const handle = openHandle(place.path)
  handle.exec('pragma busy_timeout = 20000')
  handle.exec('pragma synchronous = full')
  return {
    tx: handle as unknown as Transaction,
    run: async (text) => handle.exec(text === 'begin' ? 'begin immediate' : text),
  }
}
