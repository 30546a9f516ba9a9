import { expect, test } from 'vitest'
import { checkOutboxPrefix } from './outbox-prefix.ts'

const RULE =
  'outbox: prefix must be 1 to 36 lower-case letters, digits or underscores and begin with a letter'

test('letters, digits and underscores are accepted [valid_prefixes_are_accepted]', () => {
  for (const prefix of ['outbox', 'a', 'billing_2', 'outbox_outbox', 'a_']) {
    expect(checkOutboxPrefix(prefix, 'outbox: prefix')).toBe(prefix)
  }
})

test('a prefix of 36 characters is accepted [boundary_length_prefix_is_accepted]', () => {
  expect(checkOutboxPrefix('x'.repeat(36), 'prefix')).toBe('x'.repeat(36))
})

test('a prefix of 37 characters is refused [overlong_prefix_is_rejected]', () => {
  expect(() => checkOutboxPrefix('x'.repeat(37), 'outbox: prefix')).toThrow(
    new TypeError(`${RULE}, got "${'x'.repeat(37)}"`),
  )
})

test('anything with a meaning in SQL is refused [invalid_prefixes_are_rejected] [invalid_prefix_is_rejected]', () => {
  const refused = ['', '1a', '_a', 'a b', 'a-b', 'a.b', 'a"b', "a'b", 'a;b', 'я', 'A', 'a\n', 'a$']
  for (const prefix of [...refused, 7, null, {}]) {
    expect(() => checkOutboxPrefix(prefix, 'outbox: prefix')).toThrow(RULE)
  }
})
