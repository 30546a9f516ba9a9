import { describe, expect, test } from 'vitest'

import { activity, workflow } from './definitions.ts'
import { type Registrable, registryOf } from './registry.ts'

const hello = workflow('hello', async () => 1)
const second = workflow('hello', { version: '2.0.0' }, async () => 2)
const greet = activity('greet', () => 'hi')

describe('a registry', () => {
  test.each<[string, Registrable]>([
    ['single definitions in a list', [hello, greet]],
    ['a module', { hello, greet }],
    ['modules in a list', [{ hello }, { greet }]],
    ['lists in lists', [[hello], [[greet]]]],
    ['modules in lists in lists', [[{ hello }], [[{ greet }]]]],
    ['the same thing twice', [hello, { hello, greet }, greet]],
    [
      'a module with other exports',
      {
        hello,
        greet,
        nothing: null,
        text: 'x',
        code: () => {},
        config: { kind: 'config', store: { kind: 'sqlite' } },
        list: [1],
      },
    ],
  ])('takes %s', (_, registrable) => {
    const registry = registryOf(registrable)

    expect(registry.workflows).toEqual([hello])
    expect(registry.workflow({ name: 'hello', version: '1.0.0' })).toBe(hello)
    expect(registry.activity('greet')).toBe(greet)
  })

  test('versions of a workflow stand side by side', () => {
    const registry = registryOf([hello, second])

    expect(registry.workflow({ name: 'hello', version: '2.0.0' })).toBe(second)
    expect(registry.workflow({ name: 'hello', version: '3.0.0' })).toBeUndefined()
  })

  test('a contract gives way to its implementation', () => {
    const contract = activity<string, string>('mail')
    const mail = contract.implement(async (to) => to)

    expect(registryOf([contract, mail]).activity('mail')).toBe(mail)
    expect(registryOf([mail, contract]).activity('mail')).toBe(mail)
    expect(registryOf([hello, contract]).activity('mail')).toBeUndefined()
  })

  test('two definitions of one name are refused', () => {
    expect(() => registryOf([greet, activity('greet', () => 'ho')])).toThrow(
      'open: two different definitions of activity "greet"',
    )
    expect(() => registryOf([hello, workflow('hello', async () => 3)])).toThrow(
      'open: two different definitions of workflow "hello 1.0.0"',
    )
  })

  test('a workflow and an activity may have one name', () => {
    expect(() => registryOf([hello, activity('hello', () => 1)])).not.toThrow()
  })

  test.each<[unknown]>([[[]], [{}], [{ a: 1 }], [activity('contract')]])(
    'one without code is refused: %j',
    (value) => {
      expect(() => registryOf(value as Registrable)).toThrow(
        'open: register holds no workflow and no activity with code',
      )
    },
  )

  test.each<[unknown, string]>([
    ['hello', 'open: register must be a workflow, an activity, a list or a module'],
    [[hello, [undefined]], 'open: register[1][0] must be a workflow'],
    [() => hello, 'open: register must be a workflow'],
  ])('what is no definition is refused by its place', (value, message) => {
    expect(() => registryOf(value as Registrable)).toThrow(message)
  })
})
