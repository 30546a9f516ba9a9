import { expect, test } from 'vitest'
import { checked, Failure, failureOf } from './failure.ts'

test.each([
  new RangeError('list: limit must be a whole number, from 1 to 1000, got 0'),
  new TypeError('admin.cancel: ids[0] must be a string of 1 to 500 characters, got ""'),
  new RangeError('queue dead letters: retry: ids[0] must be a whole number, 0 or more, got -1'),
])('an error about an argument is a bad request, with its words: %s', (error) => {
  expect(failureOf(error)).toMatchObject({ code: 'bad_request', message: error.message })
})

test.each([
  new TypeError("Cannot read properties of undefined (reading 'secret')"),
  new RangeError('Invalid array length'),
  new TypeError('codec: text must be a string, got undefined'),
  new TypeError('send: the codec failed: Error: no key', { cause: new Error('no key') }),
  new Error('list: limit must be less'),
])('any other is internal, and its words are for the log: %s', (error) => {
  const failure = failureOf(error)

  expect(failure).toMatchObject({ code: 'internal', status: 500, cause: error })
  expect(failure.message).not.toContain(error.message)
})

function refuse(error: unknown): () => unknown {
  return () =>
    checked(() => {
      throw error
    })
}

test('what a check of a request refuses is a bad request', () => {
  expect(refuse(new TypeError('fork: at is missing'))).toThrow(
    new Failure('bad_request', 'fork: at is missing'),
  )
  expect(refuse(new Error('broken'))).toThrow(new Error('broken'))
  expect(checked(() => 7)).toBe(7)
})
