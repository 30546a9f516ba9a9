import { expect, test } from 'vitest'
import { sqliteSettings } from '../connect/options.ts'
import { Database } from './database.ts'
import { openMigrated } from './migrated-image.ts'

const settings = sqliteSettings({ path: ':memory:' })

const schemaOf = (database: Database): unknown[] =>
  database.sql('select type, name, sql from sqlite_schema order by type, name').all()
const serverOf = (database: Database): unknown => database.sql('select server from store').get()

test('it has the schema that migrations make, and each one is a database of its own', () => {
  const [first, second, third] = [1, 2, 3].map(
    () => new Database(settings, () => 0, openMigrated),
  ) as [Database, Database, Database]
  const migrated = new Database(settings)

  second.sql('update store set next_iid = 7').run()

  expect(schemaOf(second)).toEqual(schemaOf(migrated))
  expect(third.sql('select next_iid from store').get()).toEqual({ next_iid: 1 })
  expect(new Set([first, second, third].map((one) => JSON.stringify(serverOf(one)))).size).toBe(3)
  expect(third.sql('pragma user_version').get()).toEqual(migrated.sql('pragma user_version').get())
  for (const database of [first, second, third, migrated]) database.close()
})
