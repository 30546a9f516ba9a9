import { expect, test } from 'vitest'
import { toError } from './to-error.ts'

test('an error stays itself', () => {
  const error = new RangeError('no')

  expect(toError(error)).toBe(error)
})

test.each([[{ code: 5 }], ['text'], [null], [undefined]])(
  'anything else becomes an error with it as the cause: %j',
  (thrown) => {
    const error = toError(thrown)

    expect(error).toBeInstanceOf(Error)
    expect(error.message).not.toBe('')
    expect(error.cause).toBe(thrown)
  },
)
