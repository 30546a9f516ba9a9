import { expect, test } from 'vitest'
import { testSchema } from '../../../test/support/postgres.ts'
import { migrationSql } from './migration-sql.ts'
import { schemaStatus } from './schema-status.ts'

test('a schema is missing, current, behind or refused, and is not changed by looking', async () => {
  await using place = await testSchema('status')
  const { url, schema } = place
  const look = (outbox?: string) => schemaStatus({ url, schema, outbox })

  const missing = await look()
  await place.query(migrationSql({ schema }))
  const current = await look()
  const outbox = await look('outbox')
  await place.query(
    `delete from holdfast_migrations where name = (select max(name) from holdfast_migrations)`,
  )
  const behind = await look()
  await place.query(
    `insert into holdfast_migrations (name, checksum, version) values ('migrations/9999_x', '', '9.0.0')`,
  )
  const refused = await look()

  expect(missing).toMatchObject({ state: 'missing', detail: expect.stringContaining(schema) })
  expect(missing.missing.length).toBeGreaterThan(20)
  expect(current).toMatchObject({ state: 'current', missing: [] })
  expect(outbox).toMatchObject({ state: 'missing' })
  expect(behind).toMatchObject({ state: 'behind', missing: [expect.any(String)] })
  expect(refused).toMatchObject({ state: 'refused', detail: expect.stringContaining('9999_x') })
})
