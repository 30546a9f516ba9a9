import { describe, expect, test } from 'vitest'

import { StoreError } from '../../store/store-error.ts'
import { dropsConnection, storeError } from './errors.ts'

const coded = (code: string, message = 'words'): Error =>
  Object.assign(new Error(message), { code })

describe('errors of the server', () => {
  test.each([
    ['0A000', 'busy', true],
    ['08006', 'connection_lost', true],
    ['08P01', 'connection_lost', true],
    ['22021', 'rejected', false],
    ['23505', 'rejected', false],
    ['25006', 'unavailable', true],
    ['26000', 'busy', true],
    ['28P01', 'misconfigured', false],
    ['3D000', 'misconfigured', false],
    ['40001', 'busy', false],
    ['40P01', 'busy', false],
    ['42501', 'misconfigured', false],
    ['42601', 'unexpected', false],
    ['53100', 'unavailable', false],
    ['53300', 'unavailable', false],
    ['54000', 'rejected', false],
    ['55P03', 'locked', false],
    ['55000', 'unexpected', false],
    ['57014', 'busy', false],
    ['57P01', 'connection_lost', true],
    ['57P02', 'connection_lost', true],
    ['57P03', 'connection_lost', true],
    ['57P05', 'connection_lost', true],
    ['57P99', 'connection_lost', true],
    ['25P03', 'connection_lost', true],
    ['25P04', 'connection_lost', true],
    ['40002', 'busy', false],
    ['72000', 'busy', false],
    ['HF001', 'misconfigured', false],
    ['XX001', 'corrupt', false],
    ['XX000', 'unexpected', false],
  ])('%s is %s', (state, code, drops) => {
    const error = storeError('claim', coded(state))

    expect(error.code).toBe(code)
    expect(dropsConnection(coded(state))).toBe(drops)
  })

  test('a standby that is asked for its log position counts as unavailable', () => {
    const error = Object.assign(coded('55000'), { routine: 'pg_current_wal_lsn' })

    expect(storeError('commit_batch', error).code).toBe('unavailable')
    expect(dropsConnection(error)).toBe(true)
  })
})

test('a procedure that is replaced at the very moment it is called may be called again', () => {
  const error = coded('XX000', 'cache lookup failed for function 18011')

  expect(storeError('commit_batch', error).code).toBe('busy')
  expect(dropsConnection(error)).toBe(false)
})

describe('errors of the network', () => {
  test.each([
    ['ECONNREFUSED', 'connection_lost'],
    ['ECONNRESET', 'connection_lost'],
    ['EPIPE', 'connection_lost'],
    ['ETIMEDOUT', 'connection_lost'],
    ['ENOTFOUND', 'connection_lost'],
    ['EMFILE', 'unavailable'],
  ])('%s is %s', (code, expected) => {
    expect(storeError('claim', coded(code), 'connect').code).toBe(expected)
  })

  test.each([
    'EPROTO',
    'ENOBUFS',
    'EPERM',
    'ERR_SSL_BAD_RECORD_MAC',
    'ERR_SOCKET_CONNECTION_TIMEOUT',
  ])('while a statement runs, %s means that its answer is lost', (code) => {
    expect(storeError('commit_batch', coded(code)).code).toBe('connection_lost')
    expect(dropsConnection(coded(code))).toBe(true)
  })

  test.each([
    ['a fault of ours', Object.assign(new TypeError('no'), { code: 'ERR_INVALID_ARG_TYPE' })],
    ['what is no business of sockets', coded('ERR_ASSERTION')],
  ])('%s is not taken for that', (_, error) => {
    expect(storeError('commit_batch', error).code).toBe('unexpected')
  })

  test('of several addresses that refuse, the first speaks for all', () => {
    const refused = [coded('ECONNREFUSED', 'refused at ::1'), coded('ECONNREFUSED')]

    const error = storeError('claim', new AggregateError(refused), 'connect')

    expect(error.code).toBe('connection_lost')
    expect(error.message).toBe('claim: refused at ::1')
  })
})

describe('errors of the driver without a code', () => {
  test.each([
    ['query', new Error('Connection terminated unexpectedly'), 'connection_lost'],
    ['connect', new Error('Connection terminated due to connection timeout'), 'connection_lost'],
    ['query', new RangeError('Invalid string length'), 'rejected'],
    ['query', new TypeError('x is not a function'), 'unexpected'],
  ] as const)('in a %s: %s', (phase, error, expected) => {
    expect(storeError('claim', error, phase).code).toBe(expected)
  })
})

describe('errors while connecting', () => {
  test.each([
    ['a wrong password', coded('28P01')],
    ['a database that is not there', coded('3D000')],
    ['a certificate without a known issuer', coded('DEPTH_ZERO_SELF_SIGNED_CERT')],
    ['a missing password', new Error('SASL: client password must be a string')],
    ['a server without TLS', new Error('The server does not support SSL connections')],
    ['a token that cannot be fetched', new TypeError('fetch failed')],
  ])('%s is misconfigured at first, and retried later', (_, error) => {
    expect(storeError('open', error, 'connect').code).toBe('misconfigured')
    expect(storeError('commit_batch', error, 'connect').code).toBe('unavailable')
  })

  test('a server that cannot be reached is always reported as that', () => {
    expect(storeError('open', coded('ECONNREFUSED'), 'connect').code).toBe('connection_lost')
    expect(storeError('open', coded('53300'), 'connect').code).toBe('unavailable')
  })
})

test.each(['commit_batch', 'finish_tasks'])(
  'a lack of privileges in %s is not blamed on the item',
  (operation) => {
    for (const state of ['42501', '42P01', '42883', '3F000', 'HF001']) {
      expect(storeError(operation, coded(state)).code).toBe('unavailable')
    }
    expect(storeError(operation, coded('23505')).code).toBe('rejected')
  },
)

test('an error of a store stays as it is, any other becomes the cause', () => {
  const own = new StoreError('closed', 'claim', 'the store was closed')
  const driver = coded('57P01')

  expect(storeError('tick', own)).toBe(own)
  expect(storeError('tick', driver).cause).toBe(driver)
})
