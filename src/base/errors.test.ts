import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'

import { describe, expect, expectTypeOf, test, vi } from 'vitest'

import { errorFromData, errorToData } from './codec/error-data.ts'
import {
  CancelledError,
  type Failure,
  failure,
  isRetryable,
  registerErrorClass,
  TimeoutError,
} from './errors.ts'

/** The same module loaded once more, as ESM and CJS copies or a hot reload would. */
async function secondCopy() {
  vi.resetModules()
  return import('./errors.ts')
}

describe('failure', () => {
  test('an error of a failure class has its message, name and details', () => {
    const Declined = failure<{ code: string }>('Declined')

    const error = new Declined('no money', { code: 'E1' })

    expect(error).toBeInstanceOf(Declined)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ message: 'no money', details: { code: 'E1' } })
    expect(error.name).toBe('Declined')
    expect(Declined).toHaveProperty('name', 'Declined')
  })

  test('the stack begins with the name of the failure and the place of the throw', () => {
    const Gone = failure('Gone')

    const [first, second] = new Gone('left').stack!.split('\n')

    expect(first).toBe('Gone: left')
    expect(second).toContain('errors.test.ts')
  })

  test('printing a failure without details shows nothing but the stack', () => {
    const error = new (failure('Gone'))('left')

    expect(inspect(error)).toBe(error.stack)
  })

  test('details are asked for exactly when the failure has them', () => {
    const Gone = failure('Gone')
    const Bad = failure<{ code: number }>('Bad')
    const Maybe = failure<string | undefined>('Maybe')

    expectTypeOf<ConstructorParameters<typeof Gone>>().toEqualTypeOf<[message: string]>()
    expectTypeOf<ConstructorParameters<typeof Bad>>().toEqualTypeOf<
      [message: string, details: { code: number }]
    >()
    expectTypeOf<ConstructorParameters<typeof Maybe>>().toEqualTypeOf<
      [message: string, details: string | undefined]
    >()
    expectTypeOf<InstanceType<typeof Bad>>().toEqualTypeOf<Failure<{ code: number }>>()
    const error: unknown = new Bad('no', { code: 1 })
    if (error instanceof Bad) expectTypeOf(error.details.code).toEqualTypeOf<number>()
    // @ts-expect-error details are missing
    void new Bad('no')
    // @ts-expect-error there are no details
    void new Gone('no', {})
  })

  test('errors of another name, of no failure and of no object are not instances', () => {
    const Gone = failure('Gone')
    const Other = failure('Other')

    const others = [new Other('x'), new Error('x'), { name: 'Gone' }, 'Gone', null, undefined]

    for (const other of others) expect(other instanceof Gone).toBe(false)
  })

  test('a class defined again accepts the errors of the first, and the other way round', () => {
    const First = failure('Reloaded')
    const Second = failure('Reloaded')

    expect(new First('x')).toBeInstanceOf(Second)
    expect(new Second('x')).toBeInstanceOf(First)
  })

  test('a class of a second copy of the module accepts the errors of the first', async () => {
    const copy = await secondCopy()
    const Here = failure('Doubled', { retryable: false })
    const There = copy.failure('Doubled', { retryable: false })

    expect(new Here('x')).toBeInstanceOf(There)
    expect(new There('x')).toBeInstanceOf(Here)
    expect(isRetryable(new There('x'))).toBe(false)
  })

  test('a failure class cannot be extended', () => {
    class Special extends failure('Base') {}

    expect(() => new Special('x')).toThrow(
      new TypeError(
        'failure: "Base" cannot be extended by Special; ' +
          'define another failure and put data into its details',
      ),
    )
  })

  test.each([
    ['', 'failure: name must be a non-empty string, got ""'],
    [undefined, 'failure: name must be a non-empty string, got undefined'],
    ['TypeError', 'failure: name must not be that of an existing class, got "TypeError"'],
    ['TimeoutError', 'failure: name must not be that of an existing class, got "TimeoutError"'],
  ])('the name %o is refused', (name, message) => {
    expect(() => failure(name as string)).toThrow(new TypeError(message))
  })

  // None of those that other modules register is loaded here.
  test('the name of a class of ours is refused, loaded or not', () => {
    const ours = namesRegisteredIn(fileURLToPath(new URL('..', import.meta.url)))

    expect(ours).toEqual(expect.arrayContaining(['TimeoutError', 'ActivityError', 'WorkflowError']))
    for (const name of ours) {
      expect(() => failure(name)).toThrow('name must not be that of an existing class')
    }
  })
})

describe('isRetryable', () => {
  test('only a failure declared so is not retryable', () => {
    expect(isRetryable(new (failure('Final', { retryable: false }))('x'))).toBe(false)

    for (const other of [new (failure('Passing'))('x'), new Error('x'), 'x', null, undefined]) {
      expect(isRetryable(other)).toBe(true)
    }
  })

  test('a failure stays not retryable in a process that never defined it', async () => {
    const copy = await secondCopy()
    const There = copy.failure('DefinedElsewhere', { retryable: false })

    const back = errorFromData(errorToData(new There('x')))

    expect(Object.getPrototypeOf(back)).toBe(Error.prototype)
    expect(back.name).toBe('DefinedElsewhere')
    expect(isRetryable(back)).toBe(false)
    expect(isRetryable(errorFromData(errorToData(back)))).toBe(false)
    expect(back).toBeInstanceOf(failure('DefinedElsewhere'))
  })

  test.each([true, false])('what was recorded (%o) wins over a changed definition', (retryable) => {
    const data = errorToData(new (failure('Changed', { retryable }))('x'))
    const Changed = failure('Changed', { retryable: !retryable })

    const back = errorFromData(data)

    expect(back).toBeInstanceOf(Changed)
    expect(isRetryable(back)).toBe(retryable)
  })
})

describe('our own classes', () => {
  test('a time-out has its time and a name without a field of its own', () => {
    const cause = new Error('slow')

    const error = new TimeoutError('fetch: timed out after 50 ms', 50, { cause })

    expect(error).toMatchObject({ name: 'TimeoutError', afterMs: 50, cause })
    expect(Object.keys(error)).toEqual(['afterMs'])
    expect(error.stack).toMatch(/^TimeoutError: fetch/)
  })

  test('a cancellation has its reason, also in the message', () => {
    expect(new CancelledError('changed my mind')).toMatchObject({
      name: 'CancelledError',
      reason: 'changed my mind',
      message: 'cancelled: changed my mind',
    })
    expect(new CancelledError('').message).toBe('cancelled')
  })

  test('a registered class comes back as itself with its fields', () => {
    class OddError extends Error {
      readonly when: Date
      readonly missing: undefined
      constructor(when: Date) {
        super('odd')
        this.when = when
      }
    }
    registerErrorClass('OddError', OddError, ['when', 'missing'])

    const back = errorFromData(errorToData(new OddError(new Date(5))))

    expect(back).toBeInstanceOf(OddError)
    expect(back).toMatchObject({ name: 'OddError', message: 'odd', when: new Date(5) })
  })
})

/** The names that the sources under this folder register error classes by. */
function namesRegisteredIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.test)\.ts$/.test(file))
    .flatMap((file) => [
      ...readFileSync(`${folder}/${file}`, 'utf8').matchAll(/registerErrorClass\(\s*'(\w+)'/g),
    ])
    .map((match) => match[1]!)
}

test.each<[object, string]>([
  [{ retriable: false }, 'failure "Odd": unknown option "retriable", did you mean "retryable"?'],
  [{ retryable: 'no' }, 'failure "Odd": retryable must be true or false, got "no"'],
])('a failure with the options %o is refused', (options, message) => {
  expect(() => failure('Odd', options)).toThrow(new TypeError(message))
})
