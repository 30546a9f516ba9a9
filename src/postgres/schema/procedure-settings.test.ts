import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { Client } from 'pg'
import { describe, expect, test } from 'vitest'

import { testSchema, type TestSchema } from '../../../test/support/postgres.ts'
import { startPostgres } from '../../../test/support/postgres-server.ts'
import { batch, start, ticking } from '../../../test/support/postgres-store.ts'
import { stockBinaries } from '../../../test/support/stock.ts'
import { migrate } from './migrate.ts'
import { migrationSql } from './migration-sql.ts'
import type { SqlFile } from './sql-file.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

/** All that is called by name from outside the database. */
function called(): Set<string> {
  const folder = join(import.meta.dirname, '..')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const code = files
    .filter((file) => /(?<!test|generated)\.ts$/.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
  return new Set(Array.from(code.matchAll(/'(\w+)'/g), ([, name]) => name!))
}

async function compilable(database: TestSchema): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `select proname as name
    from pg_proc
    where pronamespace = $1::regnamespace
      and ('jit=off' = any (proconfig)) is not true
    order by proname`,
    [database.schema],
  )
  return rows.map(({ name }) => name)
}

test('every procedure is called without compiling, however the schema was made', async () => {
  await using opened = await testSchema()
  await using printed = await testSchema()

  await migrate(await opened.connect(), opened.schema)
  await printed.query(migrationSql({ schema: printed.schema }))

  const names = called()
  expect(names).toContain('commit_batch')
  for (const database of [opened, printed]) {
    const unset = (await compilable(database)).filter((name) => names.has(name))
    expect(unset).toEqual([])
  }
})

test('a procedure gets the settings that its file asks for, even when it is applied again', async () => {
  await using database = await testSchema()
  const client = await database.connect()
  const procedures = [
    procedure('usual'),
    procedure('plain', 'any plan'),
    procedure('inner', 'none'),
  ]
  const settings = (): Promise<unknown> =>
    database.query(
      `select proname as name, array(select split_part(c, '=', 1) from unnest(proconfig) as c) as set
      from pg_proc where pronamespace = $1::regnamespace order by proname`,
      [database.schema],
    )

  await migrate(client, database.schema, { migrations: [], procedures, version: '1.0.0' })
  const first = await settings()
  const changed = procedures.map((each) => ({ ...each, checksum: 'b' }))
  await migrate(client, database.schema, { migrations: [], procedures: changed, version: '1.0.0' })

  expect(first).toEqual([
    { name: 'inner', set: ['lock_timeout'] },
    { name: 'plain', set: ['lock_timeout', 'search_path', 'jit'] },
    {
      name: 'usual',
      set: ['lock_timeout', 'search_path', 'jit', 'plan_cache_mode', 'enable_seqscan'],
    },
  ])
  expect(await settings()).toEqual(first)
})

function procedure(name: string, settings?: SqlFile['settings']): SqlFile {
  return {
    name: `procedures/${name}`,
    checksum: 'a',
    ...(settings !== undefined && { settings }),
    sql: `create or replace function ${name}() returns int language sql
      set lock_timeout to '1s' as 'select 1'`,
  }
}

test('a function of another application keeps its settings', async () => {
  await using database = await testSchema()
  await database.query(`create schema "${database.schema}"`)
  await database.query(
    `create function theirs() returns int language sql set work_mem to '1MB' as 'select 1'`,
  )

  await migrate(await database.connect(), database.schema)

  const [{ proconfig }] = (await database.query(
    `select proconfig from pg_proc where oid = 'theirs'::regproc`,
  )) as [{ proconfig: string[] }]
  expect(proconfig).toEqual(['work_mem=1MB'])
})

const stock = stockBinaries()

describe.skipIf(stock === undefined)('on a stock server (where Debian’s is installed)', () => {
  test('no call of Holdfast is compiled, though the server compiles all it can', async () => {
    // At this limit, each call of a procedure is worth compiling.
    const server = await startPostgres(
      [
        'jit=on',
        'jit_above_cost=0.2',
        'shared_preload_libraries=pg_stat_statements',
        'pg_stat_statements.track=all',
      ],
      undefined,
      stock,
    )
    const client = new Client(server.url)
    const compiled = async (): Promise<string[]> => {
      const { rows } = await client.query<{ query: string }>(
        'select query from pg_stat_statements where jit_functions > 0',
      )
      return rows.map(({ query }) => query)
    }
    try {
      await client.connect()
      await client.query('create extension pg_stat_statements')
      const store = postgresWorkflowStore({ source: { url: server.url }, schema: 'ours' })
      await store.open()
      const runtime = await store.register({
        leaseMs: 60_000,
        info: '',
        workflows: [{ name: 'order', version: '1' }],
      })
      await client.query('select pg_stat_statements_reset()')

      const tasks = { activities: ['pay'], served: { untagged: true, tags: ['gpu'] } }
      await store.tick(ticking(runtime, { tasks, idle: true }))
      await store.renewLease(runtime.runtime, 60_000)
      await store.claim({ ...runtime, limit: 10, hinted: [1] })
      await store.commit(batch(runtime, { starts: [start(runtime, 1)] }))
      await store.find(['order-1'])
      await store.close()

      const theirs = 'select count(*) from pg_class where relname > $1'
      await client.query(theirs, ['a'])
      expect(await compiled()).toEqual([theirs])
    } finally {
      await client.end()
      await server.remove()
    }
  })
})
