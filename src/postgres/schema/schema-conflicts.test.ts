import { describe, expect, test } from 'vitest'

import { manifestOf } from '../../../test/support/postgres-manifest.ts'
import { testSchema } from '../../../test/support/postgres.ts'
import { migrate } from './migrate.ts'
import { migrationSql } from './migration-sql.ts'
import { FILES } from './schema-state.ts'
import { postgresWorkflowStore } from '../workflow-store.ts'

describe('a schema that other applications use', () => {
  test.each([
    ['a table', 'create table runs (n integer)', 'table "runs"'],
    ['a view', 'create view history as select 1', 'view "history"'],
    [
      'an index',
      'create table t (n integer); create index inbox_mail on t (n)',
      'index "inbox_mail"',
    ],
    ['a sequence', 'create sequence instance_numbers', 'sequence "instance_numbers"'],
    ['a type', `create type state as enum ('on')`, 'type "state"'],
    [
      'a function',
      `create function send(text) returns text language sql as 'select $1'`,
      'function "send"',
    ],
  ])(
    '%s with a name that Holdfast needs is reported, and nothing is changed',
    async (_, sql, named) => {
      await using database = await testSchema()
      const { url, schema } = database
      await database.query(`create schema ${schema}`)
      await database.query(sql)
      const before = await manifestOf(database)
      const store = postgresWorkflowStore({ source: { url }, schema })

      const refused = await store.open().catch((error: unknown) => error)
      const refusedSql = database.query(migrationSql({ schema }))
      await expect(refusedSql).rejects.toThrow(
        `with names that Holdfast needs: ${named}; use another`,
      )
      await database.query('rollback')
      await store.close()

      expect(refused).toMatchObject({
        name: 'StoreError',
        code: 'misconfigured',
        message: expect.stringContaining(
          `schema "${schema}" already contains objects with names that Holdfast needs: ${named};`,
        ),
      })
      expect(refused).toMatchObject({ message: expect.stringContaining('use another schema') })
      expect(await manifestOf(database)).toBe(before)
    },
  )

  test('tables and functions with other names are left alone', async () => {
    await using database = await testSchema()
    await database.query(`create schema ${database.schema}`)
    await database.query('create table orders (n integer)')
    await database.query(`create function two() returns integer language sql as 'select 2'`)

    await migrate(await database.connect(), database.schema)

    expect(await database.query('select two(), count(*)::int as orders from orders')).toEqual([
      { two: 2, orders: 0 },
    ])
  })

  test('a table that a later migration is to make is named as well', async () => {
    await using database = await testSchema()
    const client = await database.connect()
    const { migrations, ...files } = FILES
    await migrate(client, database.schema, FILES)
    await database.query('create table letters (c text)')
    const before = await manifestOf(database)
    const more = { name: 'migrations/9999_more', checksum: 'a', sql: 'create table letters ()' }

    const refused = migrate(client, database.schema, {
      ...files,
      migrations: [...migrations, more],
    })

    await expect(refused).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('table "letters"'),
    })
    expect(await manifestOf(database)).toBe(before)
  })
})
