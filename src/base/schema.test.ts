import { describe, expect, test } from 'vitest'

import { checkSchema, parse, type Schema } from './schema.ts'

const schema = (answer: unknown): Schema<never, unknown> => ({
  '~standard': { version: 1, vendor: 'test', validate: () => answer },
})

describe('a schema', () => {
  test('without one the value passes as it is', async () => {
    const value = { a: 1 }

    expect(await parse(undefined, value, 'input')).toBe(value)
  })

  test.each([
    ['at once', { value: 42 }],
    ['later', Promise.resolve({ value: 42 })],
    ['with an empty word', { value: 42, issues: undefined }],
  ])('the value it parsed %s is used', async (_, answer) => {
    expect(await parse(schema(answer), '42', 'input')).toBe(42)
  })

  test.each([
    ['without a path', [{ message: 'bad' }], '$: bad'],
    ['with a path', [{ message: 'bad', path: ['a', 0, 'b'] }], '$.a.0.b: bad'],
    ['with steps as objects', [{ message: 'bad', path: [{ key: 'a' }, { key: 1 }] }], '$.a.1: bad'],
    ['with a symbol', [{ message: 'bad', path: [Symbol('s')] }], '$.Symbol(s): bad'],
    ['several', [{ message: 'bad' }, { message: 'worse', path: ['x'] }], '$: bad; $.x: worse'],
  ])('issues %s are named', async (_, issues, text) => {
    await expect(parse(schema({ issues }), 1, 'the input')).rejects.toThrow(
      new TypeError(`the input is not valid: ${text}`),
    )
  })

  test('errors that it throws are passed on', async () => {
    const error = new Error('mine')
    const throwing = schema(undefined)
    throwing['~standard'].validate satisfies unknown
    const broken: Schema<never, unknown> = {
      '~standard': {
        ...throwing['~standard'],
        validate() {
          throw error
        },
      },
    }

    await expect(parse(broken, 1, 'input')).rejects.toBe(error)
  })

  test.each([[undefined], [null], [{}], ['text'], [{ '~standard': {} }]])(
    '%j is not one',
    (value) => {
      expect(() => checkSchema(value, 'workflow "x": input')).toThrow(
        'workflow "x": input must be a Standard Schema',
      )
    },
  )

  test('it may be a function, as those of ArkType are', () => {
    const callable = Object.assign(() => {}, schema({ value: 1 }))

    expect(checkSchema(callable, 'input')).toBe(callable)
  })
})
