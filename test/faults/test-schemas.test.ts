import { expect, onTestFinished, test } from 'vitest'

import { open, workflow } from '../../src/index.ts'
import { postgres } from '../../src/postgres/index.ts'
import { quoted } from '../../src/postgres/connect/schema-name.ts'
import { sweepTestSchemas, testSchema } from '../../src/testing/index.ts'
import { dropSchema } from '../../src/testing/postgres-schema.ts'
import { postgresUrl, testSchema as ownSchema, type TestSchema } from '../support/postgres.ts'
import { memoryLog } from '../support/workers.ts'

const HOUR_MS = 3_600_000

let made = 0

/** A name as it would have been made up this long ago. */
function madeAgo(ms: number, prefix = 'test'): string {
  const random = `${process.pid}${++made}`.padStart(8, '0').slice(-8)
  return `${prefix}_hft_${(Date.now() - ms).toString(36)}_${random}`
}

/** Creates schemas, each with a table, and clears them away at the end. */
async function create(database: TestSchema, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await database.query(`create schema ${quoted(name)}`)
    await database.query(`create table ${quoted(name)}.things (thing text)`)
  }
}

async function existing(database: TestSchema, names: readonly string[]): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    'select nspname as name from pg_namespace where nspname = any ($1)',
    [names],
  )
  return names.filter((name) => rows.some((row) => row.name === name))
}

test('a schema is there for a test, and gone after it', async () => {
  await using database = await ownSchema()
  const names: string[] = []
  const hello = workflow('hello', async (name: string) => `hello ${name}`)
  for (const prefix of ['shop', `we "ird'`, 'ö'.repeat(60)]) {
    await using place = await testSchema({ url: postgresUrl(), prefix })
    names.push(place.schema)
    expect(await existing(database, [place.schema])).toEqual([place.schema])

    const store = postgres({ url: place.url, schema: place.schema })
    await using holdfast = await open(store, { register: hello, log: memoryLog() })
    expect(await holdfast.run(hello, 'Kim')).toBe('hello Kim')
  }

  expect(names[0]).toMatch(/^shop_hft_/)
  expect(Buffer.byteLength(names[2]!)).toBeLessThanOrEqual(63)
  expect(await existing(database, names)).toEqual([])
})

test('schemas that were left behind long ago are removed, and nothing else', async () => {
  await using database = await ownSchema()
  const old = [madeAgo(2 * HOUR_MS), madeAgo(3 * HOUR_MS, `we "ird'`)]
  const stay = [
    madeAgo(HOUR_MS / 2),
    `${madeAgo(2 * HOUR_MS)}_more`,
    madeAgo(2 * HOUR_MS).replace('_hft_', '_hf_'),
    madeAgo(2 * HOUR_MS).toUpperCase(),
  ]
  await create(database, [...old, ...stay])
  onTestFinished(async () => {
    await using cleaner = await ownSchema()
    for (const name of [...old, ...stay]) {
      await cleaner.query(`drop schema if exists ${quoted(name)} cascade`)
    }
  })

  const swept = await sweepTestSchemas({ url: postgresUrl() })

  expect(swept).toEqual(expect.arrayContaining(old))
  expect(swept).not.toEqual(expect.arrayContaining([expect.stringMatching(/public|holdfast$/)]))
  expect(await existing(database, [...old, ...stay])).toEqual(stay)
})

test('several processes may remove them at once', async () => {
  await using database = await ownSchema()
  const old = Array.from({ length: 8 }, () => madeAgo(2 * HOUR_MS))
  await create(database, old)

  await Promise.all(Array.from({ length: 4 }, () => sweepTestSchemas({ url: postgresUrl() })))

  expect(await existing(database, old)).toEqual([])
})

test('a schema that is in use is left alone, however old', async () => {
  await using database = await ownSchema()
  const old = madeAgo(2 * HOUR_MS)
  await create(database, [old])
  const user = await database.connect()
  await user.query('begin')
  await user.query(`insert into ${quoted(old)}.things values ('x')`)

  const whileUsed = await sweepTestSchemas({ url: postgresUrl() })
  await user.query('commit')
  const later = await sweepTestSchemas({ url: postgresUrl() })

  expect(whileUsed).not.toContain(old)
  expect(later).toContain(old)
})

test('nothing is dropped but schemas of tests', async () => {
  await using database = await ownSchema()
  const client = await database.connect()

  await expect(dropSchema(client, 'public')).rejects.toThrow('"public" is not the schema of a test')
  await expect(sweepTestSchemas({} as { url: string })).rejects.toThrow(
    'sweepTestSchemas: url is missing',
  )
  await expect(testSchema({ url: 'postgres://x', prefx: 'a' } as never)).rejects.toThrow(
    'did you mean "prefix"?',
  )
})
