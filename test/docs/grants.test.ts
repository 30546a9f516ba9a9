// The guide tells an owner of a database which rights the role of the processes needs. They are taken
// from the page, so that neither can change without the other.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { activity, channel, open, workflow } from '../../src/index.ts'
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

test('a role with the rights that the guide names can do all that there is to do', async () => {
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
