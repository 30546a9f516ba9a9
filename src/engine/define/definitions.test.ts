/* oxlint-disable unicorn/consistent-function-scoping -- a test contains the code of its workflows */
import { describe, expect, test } from 'vitest'

import {
  activity,
  type ActivityDefinition,
  childOptions,
  workflow,
  type WorkflowDefinition,
} from './definitions.ts'
import { mergeActivityOptions } from './activity-options.ts'
import { checkId } from './names.ts'
import { resolveRetry } from './retry.ts'

const schema = {
  '~standard': { version: 1, vendor: 'test', validate: () => ({ value: 1 }) },
} as const

describe('definitions', () => {
  test('a workflow is data: a name, a version and code', () => {
    const run = async (): Promise<number> => 1

    expect(workflow('order', run)).toEqual({
      kind: 'workflow',
      name: 'order',
      version: '1.0.0',
      input: undefined,
      output: undefined,
      timeoutMs: undefined,
      cleanupMs: 600_000,
      run,
    })
    const options = { version: '2.1.0-beta.1', input: schema, output: schema } as const
    expect(workflow('order', { ...options, timeout: '2h', cleanup: 0 }, run)).toMatchObject({
      ...options,
      timeoutMs: 7_200_000,
      cleanupMs: 0,
    })
  })

  test('an activity is data: a name, options and code', () => {
    const run = (): number => 1

    expect(activity('mail', { timeout: '2s', retry: { maxAttempts: 7 } }, run)).toMatchObject({
      kind: 'activity',
      name: 'mail',
      input: undefined,
      options: { timeoutMs: 2_000, retry: { ...resolveRetry('x'), maxAttempts: 7 } },
      run,
    })
  })

  test('a name alone is a contract, which its code completes', () => {
    const mail = activity<string, void>('mail')
    const order = workflow<string, number>('order')
    const run = async (): Promise<number> => 1

    expect((mail as unknown as ActivityDefinition).run).toBeUndefined()
    expect(mail.implement(async () => {})).toMatchObject({ kind: 'activity', name: 'mail' })
    expect((order.implement(run) as unknown as WorkflowDefinition).run).toBe(run)
  })

  test('a contract has no version, and its code the options that come with it', () => {
    const order = workflow<string, number>('order')
    const mail = activity<string, void>('mail')
    const run = async (): Promise<number> => 1

    expect(order.version).toBe('')
    expect(order.implement(run).version).toBe('1.0.0')
    expect(order.implement(run, { version: '2.0.0', timeout: '2s' })).toMatchObject({
      version: '2.0.0',
      timeoutMs: 2_000,
      run,
    })
    const limit = { concurrency: 2 }
    expect(mail.implement(() => {}, { timeout: 5, tag: 'eu', input: schema, limit })).toMatchObject(
      {
        options: { timeoutMs: 5, tag: 'eu' },
        input: schema,
        limit,
      },
    )
    // The order of `activity` itself is another one.
    expect(() => mail.implement({ timeout: 5 } as never, (() => {}) as never)).toThrow(
      'activity "mail": implement needs a function, got an object',
    )
    expect(() => mail.implement(() => {}, { retries: 5 } as never)).toThrow('activity "mail"')
  })

  test.each([[''], ['x'.repeat(201)], ['a\nb'], ['a\x1fb'], ['\ud800'], [undefined], [7]])(
    'the name %j is refused',
    (name) => {
      expect(() => workflow(name as string, async () => 1)).toThrow(
        /^workflow: name must be a string/,
      )
      expect(() => activity(name as string, () => 1)).toThrow(/^activity: name must be a string/)
    },
  )

  test.each([['ümläut'], ['💥'], ['a b'], ['x'.repeat(200)]])('the name %j is fine', (name) => {
    expect(workflow(name, async () => 1).name).toBe(name)
  })

  test.each([['1'], ['1.0'], ['01.0.0'], ['v1.0.0'], ['latest'], [1]])(
    'the version %j is refused',
    (version) => {
      expect(() => workflow('w', { version: version as string }, async () => 1)).toThrow(
        'workflow "w": version must be a semantic version',
      )
    },
  )

  test.each<[() => unknown, string]>([
    [() => workflow('w', {} as never), 'workflow "w": the code must be a function, got'],
    [() => activity('a', {}, 'code' as never), 'activity "a": the code must be a function'],
    [
      () => workflow('w', { input: {} as never }, async () => 1),
      'workflow "w": input must be a Standard',
    ],
    [
      () => workflow('w', { output: 1 as never }, async () => 1),
      'workflow "w": output must be a Standard',
    ],
    [
      () => workflow('w', { timeout: 0 }, async () => 1),
      'workflow "w": timeout must be at least 1 ms',
    ],
    [
      () => workflow('w', { cleanup: '1 week' as never }, async () => 1),
      'workflow "w": cleanup must be a number of milliseconds or a string',
    ],
    [() => workflow('w', { versoin: '1.0.0' } as never, async () => 1), 'did you mean "version"?'],
    [() => activity('a', { timeout: 0 }, () => 1), 'activity "a": timeout must be at least 1 ms'],
    [
      () => activity('a', { retry: { maxAttempts: 0 } }, () => 1),
      'activity "a": retry: maxAttempts must be',
    ],
  ])('a mistake is refused and named: %#', (define, message) => {
    expect(define).toThrow(message)
  })

  test('options of a call override those of the definition, one by one', () => {
    const { options } = activity(
      'a',
      { timeout: 50, retry: { maxAttempts: 9 } },
      () => 1,
    ) as unknown as ActivityDefinition

    expect(mergeActivityOptions('x', options, undefined)).toBe(options)
    expect(mergeActivityOptions('x', options, { timeout: 5 })).toEqual({ ...options, timeoutMs: 5 })
    expect(mergeActivityOptions('x', options, { retry: { maxAttempts: 1 } })).toMatchObject({
      timeoutMs: 50,
      retry: { ...resolveRetry('x'), maxAttempts: 1 },
    })
    expect(mergeActivityOptions('x', undefined, undefined)).toMatchObject({
      timeoutMs: undefined,
      retry: resolveRetry('x'),
    })
  })

  test('a child is cancelled with its parent, in the latest version and without a limit', () => {
    expect(childOptions('ctx.run', undefined)).toEqual({
      id: undefined,
      version: undefined,
      timeoutMs: undefined,
      onParentClose: 'cancel',
    })
  })

  test('options given for a child apply', () => {
    const given = {
      id: 'ship-7',
      version: '2.0.0',
      timeout: '2d',
      onParentClose: 'abandon',
    } as const

    expect(childOptions('ctx.run', given)).toEqual({
      id: 'ship-7',
      version: '2.0.0',
      timeoutMs: 172_800_000,
      onParentClose: 'abandon',
    })
  })

  test.each<[object, string]>([
    [{ id: '' }, 'ctx.run: id must be a string of 1 to 500 characters'],
    [{ version: '2' }, 'ctx.run: version must be a semantic version'],
    [{ timeout: 0 }, 'ctx.run: timeout must be at least 1 ms'],
    [{ onParentClose: 'independent' }, "must be one of 'cancel', 'terminate', 'abandon'"],
    [{ retry: {} }, 'ctx.run: unknown option "retry"'],
  ])('a child with %j is refused', (given, message) => {
    expect(() => childOptions('ctx.run', given)).toThrow(message)
  })

  test('an id is text that every database keeps', () => {
    expect(checkId('bestellung/42 ü', 'start: id')).toBe('bestellung/42 ü')
    expect(checkId('x'.repeat(500), 'start: id')).toHaveLength(500)
    for (const bad of ['', 'x'.repeat(501), 'a\nb', '\ud800', 7, null]) {
      expect(() => checkId(bad, 'start: id')).toThrow(/^start: id must be a string of 1 to 500/)
    }
  })
})
