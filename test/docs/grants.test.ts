// The guide lists the rights that the role of the processes needs. They are taken from the page, so
// that neither can change without the other.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, test } from 'vitest'

import { activity, channel, connect, open, workflow } from '../../src/index.ts'
import { outbox, topic } from '../../src/outbox/index.ts'
import { doctor, migrationSql, postgres, transaction } from '../../src/postgres/index.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { postgresUrl, testSchema, type TestSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'

const PAGE = join(import.meta.dirname, '../../docs/guide/migrations.md')

const go = channel<string>('go')
const call = activity('call', { limit: { concurrency: 1 } }, async (n: number) => n + 1)
const write = transaction('write', async (n: number, { tx }) => {
  const { rows } = await tx.query('select $1::int + 1 as next', [n])
  return (rows[0] as { next: number }).next
})
const child = workflow('child', async (n: number, ctx) => ctx.run(write, n))
const all = workflow('all', { retention: '2s' }, async (n: number, ctx) => {
  const called = await ctx.run(call, n)
  const [left, right] = await ctx.all([ctx.run(child, called), ctx.run(child, called)])
  await ctx.sleep(10)
  return `${await ctx.receive(go)} ${left + right}`
})

test('a role with the privileges that the guide names can use everything', async () => {
  await using database = await testSchema()
  await database.query(migrationSql({ schema: database.schema }))
  await using role = await roleWith(database, grantsOfThePage())
  const log = memoryLog()
  const store = postgres({ url: role.url, schema: database.schema })
  await using runtime = await open(store, { register: [all, child], log })

  const instances = await Promise.all([1, 2, 3].map((n) => runtime.start(all, n)))
  await Promise.all(instances.map((one) => one.send(go, 'got', { dedupeKey: 'once' })))
  const results = await Promise.all(instances.map((one) => one.result({ timeout: '15s' })))
  for (const one of instances) await untilGone(one)
  const found = await doctor({ url: role.url, schema: database.schema })

  expect(results).toEqual(['got 6', 'got 8', 'got 10'])
  expect(found.filter(({ level }) => level === 'error')).toEqual([])
  expect(log.lines.filter(({ data }) => /permission/.test(String(data['err'])))).toEqual([])
})

test('the same privileges are enough for an outbox', async () => {
  await using database = await testSchema()
  await database.query(migrationSql({ schema: database.schema, outbox: ['outbox'] }))
  await using role = await roleWith(database, grantsOfThePage())
  const log = memoryLog()
  await using client = connect(postgres({ url: role.url, schema: database.schema }), { log })
  const events = outbox(client)
  const single = topic<string>('single')
  const transactional = topic<string>('transactional')
  const delivered: string[] = []
  events.handle(single, async ({ payload }, ctx) => {
    delivered.push(payload)
    if (payload === 'bad') ctx.reject('bad')
  })
  events.handleTransactional(transactional, async ({ payload }, { tx }) => {
    await tx.query('select 1')
    delivered.push(payload)
  })
  await events.start()
  const tx = new Client({ connectionString: role.url })
  await tx.connect()

  await tx.query('begin')
  const inside = events.in(tx)
  await inside.enqueue(single, 'good', { dedupeKey: 'once' })
  await inside.enqueue(single, 'bad')
  await inside.enqueue(single, 'later', { delay: 10 })
  await inside.enqueue(transactional, 'written')
  await tx.query('commit')
  await expect.poll(() => delivered.length, { timeout: 15_000 }).toBe(4)
  await events.drain({ timeout: '15s' })
  const letters = await events.deadLetters.replay()
  await events.deadLetters.resolve(letters.map(({ id }) => id))
  const removed = await events.deadLetters.cleanup()
  await tx.end()

  expect(removed).toBe(1)
  expect(log.lines.filter(({ data }) => /permission/.test(JSON.stringify(data)))).toEqual([])
})

/** The statements that the page shows, for the schema `holdfast` and the role `shop`. */
function grantsOfThePage(): string {
  const grants = /^```sql\n(grant [^]*?)^```$/m.exec(readFileSync(PAGE, 'utf8'))?.[1]
  if (grants === undefined) throw new Error(`${PAGE} shows no grants`)
  return grants
}

async function roleWith(database: TestSchema, grants: string) {
  const role = `user_${randomBytes(6).toString('hex')}`
  await database.query(`create role ${role} login`)
  await database.query(
    grants
      .replaceAll(/\bschema holdfast\b/g, `schema ${quoted(database.schema)}`)
      .replaceAll(/\bto shop\b/g, `to ${role}`),
  )
  const url = new URL(postgresUrl())
  url.username = role
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await database.query(`drop owned by ${role}`)
      await database.query(`drop role ${role}`)
    },
  }
}

/** Its retention is over, and it was removed. */
async function untilGone(instance: { info(): Promise<unknown> }): Promise<void> {
  await expect.poll(() => instance.info(), { timeout: 15_000 }).toBeUndefined()
}
