import { describe, expect, test } from 'vitest'
import { StoreError } from '../../store/store-error.ts'
import { isBusy, toStoreError } from './sqlite-error.ts'

describe.each([
  ['better-sqlite3', (name: string) => ({ code: `SQLITE_${name}` })],
  ['node:sqlite', (_: string, errcode: number) => ({ code: 'ERR_SQLITE_ERROR', errcode })],
])('an error of %s', (_, shape) => {
  test.each([
    ['BUSY', 5, 'busy', true],
    ['BUSY_SNAPSHOT', 517, 'busy', true],
    ['FULL', 13, 'unavailable', true],
    ['IOERR_FSYNC', 1034, 'unavailable', true],
    ['READONLY', 8, 'unavailable', true],
    ['CORRUPT', 11, 'corrupt', false],
    ['NOTADB', 26, 'misconfigured', false],
    ['TOOBIG', 18, 'rejected', false],
    ['CONSTRAINT_DATATYPE', 3091, 'rejected', false],
    ['ERROR', 1, 'unexpected', false],
  ])('%s (%i) becomes %s', (name, number, code, retryable) => {
    const thrown = Object.assign(new Error('said SQLite'), shape(name, number))

    const error = toStoreError('sqlite commit', thrown)

    expect(error).toMatchObject({ code, retryable, message: 'sqlite commit: said SQLite' })
    expect(error.cause).toBe(thrown)
    expect(isBusy(thrown)).toBe(code === 'busy')
  })
})

test('an error that is not from SQLite is unexpected', () => {
  expect(toStoreError('sqlite tick', new TypeError('oops')).code).toBe('unexpected')
  expect(toStoreError('sqlite tick', 'oops').message).toBe('sqlite tick: oops')
})

test('a StoreError stays what it is', () => {
  const error = new StoreError('closed', 'sqlite load', 'the store was closed')

  expect(toStoreError('sqlite load', error)).toBe(error)
})
