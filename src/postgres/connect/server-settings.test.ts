import { expect, test } from 'vitest'

import { testSchema } from '../../../test/support/postgres.ts'
import { checkSettings } from './server-settings.ts'

test('a server with the usual settings passes', async () => {
  await using database = await testSchema()

  await expect(checkSettings(await database.connect())).resolves.toBeUndefined()
})

test.each([
  ['synchronous_commit', 'off'],
  ['synchronous_commit', 'local'],
  ['default_transaction_isolation', 'repeatable read'],
])('the setting %s = %s is refused, with its name and the fix', async (name, value) => {
  await using database = await testSchema()
  const client = await database.connect()
  await client.query(`select set_config('${name}', '${value}', false)`)

  await expect(checkSettings(client)).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringMatching(`${name} is "${value}".*alter role`),
  })
})

test.each([
  ['fsync', 'off', /fsync is "off".*postgresql\.conf/],
  ['server_encoding', 'SQL_ASCII', /server_encoding is "SQL_ASCII".*encoding 'UTF8'/],
  ['server_version_num', '130011', /PostgreSQL 14 or newer is required, this is 13/],
])('a server with %s = %s is refused', async (name, setting, message) => {
  const rows = [{ name: 'server_version_num', setting: '180004' }].filter(
    (row) => row.name !== name,
  )
  const server = { query: async () => ({ rows: [...rows, { name, setting }] }) }

  await expect(checkSettings(server)).rejects.toThrow(message)
})
