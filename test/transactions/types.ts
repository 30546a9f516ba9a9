/* oxlint-disable typescript/no-unnecessary-type-parameters -- types are compared by them */

// What the compiler must accept, refuse and infer of transactions. It is compiled, never run.

import type BetterSqlite from 'better-sqlite3'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Transaction as KyselyTransaction } from 'kysely'
import type pg from 'pg'
import type { TransactionSql } from 'postgres'
import { channel, connect, type Schema, workflow } from '../../src/index.ts'
import { type Queryable, transaction as onPostgres } from '../../src/postgres/index.ts'
import { type Statements, transaction as onSqlite } from '../../src/sqlite/index.ts'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function is<T extends true>(holds: T): void
declare function schema<In, Out = In>(): Schema<In, Out>

const pay = onPostgres('pay', async (order: { id: string }, { tx, attempt }) => {
  is<Equal<typeof tx, Queryable>>(true)
  const { rowCount } = await tx.query('update orders set paid = true where id = $1', [order.id])
  return { paid: rowCount === 1, attempt }
})
const sum = onSqlite('sum', (order: { id: string }, { tx, idempotencyKey }) => {
  is<Equal<typeof tx, Statements>>(true)
  tx.run('insert into sums values (?, ?)', order.id, idempotencyKey)
  return tx.all('select * from sums').length
})
const parsed = onPostgres(
  'parsed',
  { input: schema<{ n: string }, { n: number }>(), timeout: '5s' },
  async ({ n }) => n.toFixed(),
)
const parsedHere = onSqlite(
  'parsed',
  { input: schema<{ n: string }, { n: number }>() },
  ({ n }) => n,
)

workflow('all', async (order: { id: string }, ctx) => {
  const paid = await ctx.run(pay, order)
  is<Equal<typeof paid, { paid: boolean; attempt: number }>>(true)
  const total = await ctx.run(sum, order)
  is<Equal<typeof total, number>>(true)
  is<Equal<Awaited<ReturnType<typeof ctx.run<typeof parsed>>>, string>>(true)
  await ctx.run(parsed, { n: '1' })
  await ctx.run(parsedHere, { n: '1' })
  // @ts-expect-error the text is what callers pass
  await ctx.run(parsed, { n: 1 })
  // @ts-expect-error an order has an id
  await ctx.run(pay, {})
})

// @ts-expect-error nothing can be awaited in it
onSqlite('async', async (order: { id: string }, { tx }) => tx.run('delete from x', order.id))
// @ts-expect-error its statements are awaited
onPostgres('sync', (order: { id: string }) => order.id)
// @ts-expect-error it needs its code
onPostgres('contract')

declare const transactions: {
  readonly client: pg.PoolClient
  readonly postgresJs: TransactionSql
  readonly kysely: KyselyTransaction<unknown>
  readonly drizzle: Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]
  readonly betterSqlite: BetterSqlite.Database
  readonly own: Queryable
}
const client = connect('memory:')
const notes = channel<string>('notes')
const greet = workflow('greet', async (name: string) => name)
for (const tx of Object.values(transactions)) {
  const inside = client.in(tx)
  void inside.start(greet, 'Kim', { id: 'a' }).then(({ id }) => id satisfies string)
  void inside.send('a', notes, 'hi', { dedupeKey: 'k' })
  void inside.cancel('a', 'no')
  // @ts-expect-error a name is text
  void inside.start(greet, 1)
  // @ts-expect-error there is no result before the commit
  void inside.result
}
// @ts-expect-error not a transaction of anything
client.in({ commit() {} })
// @ts-expect-error nor is text
client.in('begin')
