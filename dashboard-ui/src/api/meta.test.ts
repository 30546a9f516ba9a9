import { expect, test } from 'vitest'

import type { Access, Meta } from '../../../src/dashboard/api.ts'
import { isLocked, wholeMeta } from './meta.ts'

const locked: Access = { reads: 'token', writes: true, authorized: false }
const meta: Meta = {
  ...locked,
  authorized: true,
  version: '1.0.0',
  at: '2026-11-18T06:30:00.000Z',
  hasOutbox: false,
  hasDoctor: false,
  queues: [],
}

test('a reader without the token is told only that it is needed', () => {
  expect(isLocked(locked)).toBe(true)
  expect(wholeMeta(locked)).toBeUndefined()
})

test('a reader with the token is told all', () => {
  expect(isLocked(meta)).toBe(false)
  expect(wholeMeta(meta)).toBe(meta)
  expect(wholeMeta(undefined)).toBeUndefined()
})
