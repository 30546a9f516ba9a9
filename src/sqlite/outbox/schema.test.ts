import { expect, test } from 'vitest'
import { openSqliteOutbox } from '../../../test/support/outbox-under-test.ts'
import { openStore, settingsFor, tempFile } from '../../../test/support/sqlite.ts'
import { Database } from '../file/database.ts'
import { openOutbox } from './schema.ts'

test('the tables of an outbox do not disturb those of workflows: the file can be opened again', async () => {
  using file = tempFile()
  {
    await using scene = await openStore(file.path)
    await scene.store.outbox('outbox').open()
  }

  await using again = await openStore(file.path)

  expect(await again.store.outbox('outbox').allTopics()).toEqual([])
  expect(await again.store.now()).toBeGreaterThan(0)
})

test('tables of a newer version are refused, and nothing is changed', async () => {
  await using scene = await openSqliteOutbox()
  await scene.sql('update outbox_store set version = 2')

  await expect(scene.outbox.open()).rejects.toMatchObject({
    name: 'StoreError',
    code: 'newer_schema',
    message: 'sqlite outbox: outbox_store has schema 2, this version of holdfast knows 1',
  })
})

test.each([
  ['table "shop_keys"', 'create table shop_keys (door text)'],
  ['table "Shop_Keys"', 'create table Shop_Keys (door text)'],
  ['table "shop_store"', 'create table shop_store (street text, version integer)'],
  ['view "shop_messages"', 'create view shop_messages as select 1 as one'],
  ['index "shop_keys_at"', 'create index shop_keys_at on entries (entry)'],
])('the %s of another application is named and left alone', async (named, statement) => {
  await using scene = await openSqliteOutbox()
  await scene.sql(statement)
  const shop = scene.store.outbox!('shop')

  await expect(shop.open()).rejects.toMatchObject({
    name: 'StoreError',
    code: 'misconfigured',
    message:
      `sqlite outbox: the file already contains objects with names that Holdfast needs: ${named}; ` +
      `nothing was changed; use another prefix, as in outbox(client, { prefix: 'events' })`,
  })

  const rows = await scene.sql(`select name from sqlite_schema where name like 'shop%'`)
  expect(rows).toHaveLength(1)
})

test('two who open at once create the tables once', async () => {
  using file = tempFile()
  await using one = await openStore(file.path)
  await using other = await openStore(file.path)

  await Promise.all([one.store.outbox('outbox').open(), other.store.outbox('outbox').open()])

  expect(await other.store.outbox('outbox').allTopics()).toEqual([])
})

test.each([
  '',
  '1st',
  'a-b',
  'a b',
  'a"b',
  'Outbox',
  'x'.repeat(37),
  'sqlite',
  'sqlite_x',
  'a;drop',
])('the prefix "%s" is refused at once', async (prefix) => {
  await using scene = await openStore()

  expect(() => scene.store.outbox(prefix)).toThrow('outbox: prefix must')
})

test('a prefix is checked where SQL is made of it, too', () => {
  const database = new Database(settingsFor(':memory:'))

  const refused = (): void =>
    database.write('test', 0, (tx) => openOutbox(tx, 'a;drop table store'))

  expect(refused).toThrow('outbox: prefix must')
  database.close()
})
