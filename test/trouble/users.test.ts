// Users whose transactions are in the way: they hold locks, or snapshots, and do nothing.

import { setTimeout as passTime } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { open } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import type { Scene } from '../e2e/scene.ts'
import { memoryLog } from '../support/workers.ts'
import { countedWork } from './line.ts'
import { type OwnServer, ownServer } from './own-server.ts'
import { until, workThrough } from './stage.ts'

const LIMIT_MS = 120_000

let server: OwnServer

beforeAll(async () => {
  // So that deadlocks are found before a call gives up waiting.
  server = await ownServer(['deadlock_timeout=20ms'])
}, LIMIT_MS)
afterAll(() => server[Symbol.asyncDispose](), LIMIT_MS)

/** A user's connection; the schema of the store is its search path. */
async function user(schema: string): Promise<Client> {
  const client = new Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  await client.query(`set search_path to ${schema}`)
  return client
}

async function deadlocks(): Promise<number> {
  await server.query('select pg_stat_clear_snapshot()')
  const [row] = await server.query(
    `select deadlocks::int as n from pg_stat_database where datname = 'postgres'`,
  )
  return Number(row!['n'])
}

/**
 * Locks rows of ours in another order than we do: the instance before its run, and then those of
 * another instance.
 */
async function lockInOtherOrder(client: Client, isEnough: () => boolean): Promise<void> {
  while (!isEnough()) {
    try {
      await client.query('begin')
      for (let i = 0; i < 3; i++) {
        const { rows } = await client.query('select iid from runs order by random() limit 1')
        const [run] = rows as { iid: string }[]
        if (run === undefined) continue
        await client.query('select from instances where iid = $1 for update', [run.iid])
        await passTime(15)
        await client.query('select from runs where iid = $1 for update', [run.iid])
      }
      await client.query('commit')
    } catch (error) {
      // It was this one that the server chose.
      if ((error as { code?: string }).code !== '40P01') throw error
      await client.query('rollback')
    }
  }
}

function schemaOf(scene: Scene): string {
  return scene.store.kind === 'postgres' ? scene.store.schema : ''
}

test(
  'deadlocks with transactions that lock the rows in other orders are retried',
  async () => {
    const before = await deadlocks()

    const { findings } = await workThrough(server.url, async ({ scene, worksAgain }) => {
      await worksAgain()
      const users = await Promise.all([1, 2, 3, 4].map(() => user(schemaOf(scene))))
      let found = before
      const locking = users.map((client) => lockInOtherOrder(client, () => found >= before + 5))
      await until(async () => (found = await deadlocks()) >= before + 5)
      await Promise.all(locking)
      await Promise.all(users.map((client) => client.end()))
      await worksAgain()
    })

    expect(findings).toEqual([])
  },
  LIMIT_MS,
)

test(
  'a transaction that keeps an old snapshot delays no other transaction',
  async () => {
    const schema = 'snapshot'
    const store = postgres({ url: server.url, schema })
    const { line, runs } = countedWork()
    await using runtime = await open(store, { register: line, log: memoryLog() })
    const idle = await user(schema)
    await idle.query('begin isolation level repeatable read')
    await idle.query('select count(*) from runs')

    const all = Array.from({ length: 20 }, () => runtime.run(line, 5, { timeout: '30s' }))

    expect(await Promise.all(all)).toEqual(all.map(() => 15))
    expect([...runs.values()]).toEqual(Array.from({ length: 100 }, () => 1))
    await idle.query('commit')
    await idle.end()
  },
  LIMIT_MS,
)
