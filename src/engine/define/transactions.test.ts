import { describe, expect, test } from 'vitest'
import type { ActivityDefinition } from './definitions.ts'
import { activity } from './definitions.ts'
import { checkTransaction, defineTransaction } from './transactions.ts'

const code = (): number => 1

describe('a transaction', () => {
  test('is an activity that knows the kind of its store', () => {
    const definition = defineTransaction('postgres', 'pay', [code])

    expect(definition).toMatchObject({ kind: 'activity', name: 'pay', transaction: 'postgres' })
    expect(definition.run).toBe(code)
  })

  test('takes the options of an activity, between its name and its code', () => {
    const { options, run } = defineTransaction('sqlite', 'pay', [{ timeout: '5s' }, code])

    expect(options.timeoutMs).toBe(5_000)
    expect(run).toBe(code)
  })

  test('refuses an unknown option with a guess', () => {
    expect(() => defineTransaction('sqlite', 'pay', [{ timeuot: '5s' }, code])).toThrow(
      'activity "pay": unknown option "timeuot", did you mean "timeout"?',
    )
  })

  test.each([
    ['nothing', [], 'got undefined'],
    ['options alone', [{ timeout: '5s' }], 'got an object'],
    ['text', [{}, 'select 1'], 'got "select 1"'],
  ])('refuses %s in place of its code', (_, rest, got) => {
    expect(() => defineTransaction('sqlite', 'pay', rest)).toThrow(
      `transaction "pay": the code must be a function, ${got}`,
    )
  })
})

describe('the check of the store', () => {
  test('names both kinds when they differ', () => {
    const definition = defineTransaction('postgres', 'pay', [code])

    expect(() => checkTransaction(definition, 'sqlite')).toThrow(
      'transaction "pay" uses transaction() of holdfast/postgres, but the store is "sqlite": ' +
        'use transaction() of holdfast/sqlite',
    )
  })

  test('says why a store has none', () => {
    const definition = defineTransaction('sqlite', 'pay', [code])

    expect(() => checkTransaction(definition, 'sqlite', 'it is in memory')).toThrow(
      'transaction "pay" cannot run: it is in memory',
    )
    expect(() =>
      checkTransaction(activity('plain', code) as ActivityDefinition, 'sqlite', 'it is in memory'),
    ).not.toThrow()
  })

  test('lets pass the same kind, and plain activities on any', () => {
    const definition = defineTransaction('postgres', 'pay', [code])

    expect(() => checkTransaction(definition, 'postgres')).not.toThrow()
    expect(() =>
      checkTransaction(activity('plain', code) as ActivityDefinition, 'sqlite'),
    ).not.toThrow()
  })
})
