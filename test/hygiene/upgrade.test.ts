import { expect, test } from 'vitest'

import { activity, channel, open, type Runtime, workflow } from '../../src/index.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { FILES, type SchemaFiles } from '../../src/postgres/schema/schema-state.ts'
import { postgres } from '../../src/postgres/store.ts'
import type { SqlFile } from '../../src/postgres/schema/sql-file.ts'
import { memoryLog } from '../support/workers.ts'
import { testSchema, type TestSchema } from '../support/postgres.ts'

// An upgrade while processes run. The newer version is made up from this one: its migration adds
// columns and drops procedures, which answer more from then on, as migrations do.

const LAST = FILES.migrations.at(-1)!.name.slice('migrations/'.length, 'migrations/'.length + 4)
const CHANGED = ['register', 'tick', 'claim', 'commit_batch', 'start_batch']

const NEXT: SqlFile = {
  name: 'migrations/9999_next',
  checksum: 'next',
  worksWith: LAST,
  sql: [
    'alter table runs add column future text',
    `alter table instances add column future text not null default ''`,
    'alter table runtimes add column future bigint',
    'create index runs_future on runs (future) where future is not null',
    ...CHANGED.map((name) => `drop function ${name}`),
  ].join(';\n'),
}

const NEWER: SchemaFiles = {
  version: '99.0.0',
  migrations: [...FILES.migrations, NEXT],
  procedures: FILES.procedures.map((file) =>
    CHANGED.includes(file.name.slice('procedures/'.length))
      ? { ...file, checksum: 'next', sql: withAnotherAnswer(file.sql) }
      : file,
  ),
}

const add = activity('add', async (n: number) => n + 1)
const note = channel<number>('note')
const job = workflow('job', async (n: number, ctx) => {
  const one = await ctx.run(add, n)
  const got = await ctx.receive(note)
  await ctx.sleep(10)
  return (await ctx.run(add, one)) + got
})

test('a process continues while a newer version migrates, and an older one starts beside it', async () => {
  await using database = await testSchema()
  await using old = await runtimeOf(database)
  const before = await Promise.all(range(20).map((n) => old.start(job, n, { id: `before-${n}` })))

  await migrate(await database.connect(), database.schema, NEWER)
  const after = await Promise.all(range(20).map((n) => old.start(job, n, { id: `after-${n}` })))
  await using late = await runtimeOf(database)
  const later = await Promise.all(range(20).map((n) => late.start(job, n, { id: `later-${n}` })))
  for (const instance of [...before, ...after, ...later]) await instance.send(note, 100)
  const results = await Promise.all([...before, ...after, ...later].map((one) => one.result()))

  expect(results).toEqual([...range(20), ...range(20), ...range(20)].map((n) => n + 102))
  expect(await newerProcedures(database)).toEqual(CHANGED.toSorted())
})

test('a process that continues beside a newer schema releases its work when it closes', async () => {
  await using database = await testSchema()
  const old = await runtimeOf(database)
  const waiting = await old.start(job, 1, { id: 'handed-on' })
  await migrate(await database.connect(), database.schema, NEWER)

  await old.close()
  await using next = await runtimeOf(database)
  const found = next.get(job, waiting.id)
  await found.send(note, 100)

  expect(await found.result()).toBe(103)
})

function runtimeOf({ url, schema }: TestSchema): Promise<Runtime> {
  return open(postgres({ url, schema }), { register: job, log: memoryLog() })
}

/** The procedures that are those of the newer version. */
async function newerProcedures(database: TestSchema): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `select name from holdfast_migrations where checksum = 'next' and name like 'procedures/%'
    order by name`,
  )
  return rows.map(({ name }) => name.slice('procedures/'.length))
}

/** The text of a procedure that answers one thing more. */
function withAnotherAnswer(sql: string): string {
  const changed = sql.replace(/\n\)\n/, ',\n  out future text\n)\n')
  if (changed === sql) throw new Error(`no list of parameters in\n${sql}`)
  return changed
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n)
}
