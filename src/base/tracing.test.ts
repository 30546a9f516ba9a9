import { describe, expect, test } from 'vitest'
import { harmlessTracing, type Span } from './tracing.ts'

const trouble = new Error('broken tracing')

const fail = (): never => {
  throw trouble
}

const runAndFail: Span['run'] = (code) => {
  try {
    return code()
  } finally {
    // oxlint-disable-next-line no-unsafe-finally -- what a broken tracing may do
    fail()
  }
}

/** A span of a tracing whose spans have these methods; `errors` are those that it logged. */
function spanWith(methods: Partial<Span>) {
  const errors: unknown[] = []
  const tracing = {
    active: () => undefined,
    start: () => ({ context: 'c', run: <T>(code: () => T) => code(), end() {}, ...methods }),
  }
  const log = { error: (data: object) => errors.push((data as { err: unknown }).err) }
  return {
    span: harmlessTracing(tracing, log).start('work', { kind: 'internal', attributes: {} }),
    errors,
  }
}

describe('code in a span of a broken tracing', () => {
  test.each<[string, Span['run']]>([
    ['throws at once', fail],
    ['throws after it has run the code', (code) => (code(), fail())],
    ['never calls the code', () => undefined as never],
    ['calls the code twice', (code) => (code(), code())],
    ['returns something else', (code) => (code(), 'other' as never)],
  ])('runs once, and its result arrives, when the span %s', (_, run) => {
    const { span } = spanWith({ run })
    let calls = 0

    const result = span.run(() => (calls++, 'done'))

    expect({ result, calls }).toEqual({ result: 'done', calls: 1 })
  })

  test('passes its own error on, which is not logged', () => {
    const { span, errors } = spanWith({})
    const own = new RangeError('of the code')

    expect(() =>
      span.run(() => {
        throw own
      }),
    ).toThrow(own)
    expect(errors).toEqual([])
  })

  test('passes its own error on when the tracing throws another one, which is logged', () => {
    const { span, errors } = spanWith({ run: runAndFail })
    const own = new RangeError('of the code')

    expect(() =>
      span.run(() => {
        throw own
      }),
    ).toThrow(own)
    expect(errors).toEqual([trouble])
  })
})

test('a span whose end rejects is logged, once', async () => {
  // oxlint-disable-next-line typescript/no-misused-promises -- what a broken tracing may do
  const { span, errors } = spanWith({ end: () => Promise.reject(trouble) })

  span.end({})
  span.end({})
  await new Promise(setImmediate)

  expect(errors).toEqual([trouble])
})
