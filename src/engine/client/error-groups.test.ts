import { expect, test } from 'vitest'
import { withoutDetails } from './error-groups.ts'

test.each([
  ['order 17 failed after 3 tries', 'order 99 failed after 12 tries'],
  ['no user "kim@example.com"', 'no user "x"'],
  [
    'lost 0190a1b2-0000-7000-8000-000000000001 at 10ms',
    'lost 1190a1b2-ffff-7000-8000-000000000002 at 7ms',
  ],
  ['card of kim.li@example.com was declined', 'card of bo@mail.example.org was declined'],
  ['key order-2024-a is taken', 'key order-2025-b is taken'],
])('what differs from instance to instance makes no other group: %s', (one, other) => {
  expect(withoutDetails(one)).toBe(withoutDetails(other))
})

test('texts without details differ', () => {
  expect(withoutDetails('card declined')).not.toBe(withoutDetails('card expired'))
  expect(withoutDetails('  two   words ')).toBe('two words')
})
