import { expect, test } from 'vitest'

import { doctor } from '../doctor/doctor.ts'
import { postgres } from '../store.ts'
import { postgresSettings } from './options.ts'

const POOL = { connect() {}, on() {}, removeListener() {}, end() {} }

test('nothing given means the variables of the process and the schema holdfast', () => {
  const source = { url: undefined }

  expect(postgresSettings()).toEqual({
    source,
    schema: 'holdfast',
    listenTo: source,
  })
})

test('hints come through an address of their own, or not at all', () => {
  const url = 'postgres://pooler/shop'

  expect(postgresSettings({ url, listenUrl: 'postgres://server/shop' })).toMatchObject({
    source: { url },
    listenTo: { url: 'postgres://server/shop' },
  })
  expect(postgresSettings({ url, notify: 'off' }).listenTo).toBeUndefined()
})

test.each([
  { options: { max: 2 } },
  { options: { max: 1 }, notify: 'off' },
  { options: { max: 1 }, listenUrl: 'postgres://server/shop' },
  {},
] as const)('a pool is accepted if it has room for the connections that are kept: %j', (given) => {
  const { options, ...rest } = { options: undefined, ...given }

  expect(postgresSettings({ pool: { ...POOL, options }, ...rest }).schema).toBe('holdfast')
})

test('a store connects to nothing before it is used', () => {
  expect(postgres({ url: 'postgres://nobody@127.0.0.1:1/none' }).kind).toBe('postgres')
})

test.each([
  [{ url: 'postgres://a/b', pool: POOL }, 'postgres: give url or pool, not both'],
  [
    { url: 'mysql://root:secret@a/b' },
    'postgres: url must start with "postgres://", got another string',
  ],
  [{ pool: { query() {} } }, 'postgres: pool must be a pg.Pool, but it has no method connect()'],
  [
    { pool: { ...POOL, options: { max: 1 } } },
    'postgres: pool must allow more than one connection',
  ],
  [{ schema: '' }, 'postgres: schema must be the name of a schema, got ""'],
  [{ schema: 'pg_own' }, 'postgres: schema must not start with "pg_", got "pg_own"'],
  [{ schema: '$user' }, 'postgres: schema must not be "$user"'],
  [{ schema: 'ö'.repeat(32) }, 'postgres: schema must not be longer than 63 bytes'],
  [
    { listenUrl: 'server' },
    'postgres: listenUrl must start with "postgres://", got another string',
  ],
  [{ notify: 'on' }, `postgres: notify must be one of 'auto', 'off', got "on"`],
  [
    { notify: 'off', listenUrl: 'postgres://a/b' },
    "postgres: listenUrl has no use when notify is 'off'",
  ],
  [{ shema: 'x' }, 'postgres: unknown option "shema", did you mean "schema"?'],
])('%j is refused', (given, message) => {
  expect(() => postgresSettings(given as never)).toThrow(message)
})

test.each([
  [
    { conn: 1 },
    'doctor: unknown option "conn"; the known options are ' +
      'url, pool, schema, notify, listenUrl, metrics, longTransaction',
  ],
  [{ longTransactions: 1 }, 'doctor: unknown option "longTransactions", did you mean'],
  [{ schema: 'pg_own' }, 'doctor: schema must not start with "pg_", got "pg_own"'],
  [{ longTransaction: 'long' }, 'doctor: longTransaction '],
  [{ url: 'postgres://a/b', pool: POOL }, 'doctor: give url or pool, not both'],
  [5, 'doctor: options must be a plain object, got 5'],
])('doctor refuses %j as its own', async (given, message) => {
  await expect(doctor(given as never)).rejects.toThrow(message)
})
