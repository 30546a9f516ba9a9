import { expect, test } from 'vitest'
import { reasonOf } from './outcome.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), {
  code: 'ECONNREFUSED',
})

function withCause(cause: unknown): Error {
  return new TypeError('fetch failed', { cause })
}

test.each<[string, unknown, string]>([
  ['an error', new TypeError('no such account'), 'TypeError: no such account'],
  [
    'its cause, such as that of fetch',
    withCause(refused),
    'TypeError: fetch failed; cause: Error: connect ECONNREFUSED 127.0.0.1:9',
  ],
  [
    'a cause that has only a code',
    withCause(Object.assign(new AggregateError([refused], ''), { code: 'ECONNREFUSED' })),
    'TypeError: fetch failed; cause: AggregateError (ECONNREFUSED)',
  ],
  ['a cause that is a text', withCause('why'), 'TypeError: fetch failed; cause: "why"'],
  [
    'the cause of a cause',
    new Error('outer', { cause: withCause(refused) }),
    'Error: outer; cause: TypeError: fetch failed; cause: Error: connect ECONNREFUSED 127.0.0.1:9',
  ],
  [
    'the code of a cause whose message is said',
    new Error('commit: it is gone', {
      cause: Object.assign(new RangeError('it is gone'), { code: '57P01' }),
    }),
    'Error: commit: it is gone; cause: RangeError (57P01)',
  ],
  [
    'an object with a message, a code',
    { code: 'E_CARD', message: 'card declined' },
    'card declined (E_CARD)',
  ],
  ['a name', { name: 'CardError', message: 'declined' }, 'CardError: declined'],
  ['an object without a message', { code: 1 }, 'an object'],
  ['no error at all', 'no', '"no"'],
])('a reason says %s', (_, thrown, reason) => {
  expect(reasonOf(thrown)).toBe(reason)
})

test('causes that go round in circles end', () => {
  const error = new Error('round')
  error.cause = withCause(error)

  expect(reasonOf(error)).toBe('Error: round; cause: TypeError: fetch failed')
})

test('what throws when it is read has a reason, too', () => {
  const hostile = new Error('hostile')
  Object.defineProperty(hostile, 'cause', {
    get() {
      throw new Error('no')
    },
  })

  expect(reasonOf(hostile)).toBe('Error: hostile')
  expect(reasonOf(Object.defineProperty({}, 'message', { get: () => hostile.cause }))).toBe(
    'an object',
  )
})
