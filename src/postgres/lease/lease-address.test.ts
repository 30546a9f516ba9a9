import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import type { PgPool } from '../connect/driver.ts'
import { addressOf } from './lease-address.ts'

const askForIt = (): string => 'x'

describe('where connections lead', () => {
  test.each([
    ['a URL', { url: 'postgres://a/b' }, { connectionString: 'postgres://a/b' }],
    ['the variables of the process', { url: undefined }, undefined],
    [
      'a pool with a URL',
      { pool: new Pool({ connectionString: 'postgres://a/b', max: 3 }) },
      { connectionString: 'postgres://a/b' },
    ],
    [
      'a pool with an address',
      { pool: new Pool({ host: 'a', port: 1, user: 'b', password: 'c', database: 'd' }) },
      { host: 'a', port: 1, user: 'b', password: 'c', database: 'd' },
    ],
    [
      'a pool with a key, which it hides',
      { pool: new Pool({ host: 'a', ssl: { ca: 'x', key: 'y' } }) },
      { host: 'a', ssl: { ca: 'x', key: 'y' } },
    ],
  ])('is known of %s', (_, source, address) => {
    const found = addressOf(source)

    expect(structuredClone(found)).toEqual({ address, password: undefined })
  })

  test('is known of a pool with a password function, which stays in the main thread', () => {
    const pool = new Pool({ host: 'a', password: askForIt }) as unknown as PgPool

    expect(addressOf({ pool })).toEqual({ address: { host: 'a' }, password: askForIt })
  })

  test.each([
    ['a check of its own', new Pool({ ssl: { checkServerIdentity: () => undefined } }), 'ssl'],
    ['a socket of its own', new Pool({ stream: () => null as never }), 'stream'],
    ['nothing to go by', { connect: () => {} }, 'does not say'],
  ])('cannot be sent when a pool has %s', (_, pool, word) => {
    const source = { pool: pool as unknown as PgPool }

    expect(() => addressOf(source)).toThrow(word)
  })
})
