import { describe, expect, test } from 'vitest'

import { activity, type ActivityDefinition, type AnyActivity, workflow } from './definitions.ts'
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

  test('versions of a workflow are registered side by side, each found by its own number', () => {
    const registry = registryOf([hello, second])

    expect(registry.workflows).toEqual([hello, second])
    expect(registry.workflow({ name: 'hello', version: '1.0.0' })).toBe(hello)
    expect(registry.workflow({ name: 'hello', version: '2.0.0' })).toBe(second)
    expect(registry.workflow({ name: 'hello', version: '3.0.0' })).toBeUndefined()
  })

  test('the latest version is the highest, in whatever order they are registered', () => {
    const tenth = workflow('hello', { version: '10.0.0' }, async () => 10)

    expect(registryOf([hello, second]).latest('hello')).toBe(second)
    expect(registryOf([tenth, second, hello]).latest('hello')).toBe(tenth)
    expect(registryOf([hello]).latest('hello')).toBe(hello)
    expect(registryOf([hello]).latest('bye')).toBeUndefined()
  })

  test('the latest version is a pre-release only where nothing is released', () => {
    const beta = workflow('hello', { version: '3.0.0-beta.2' }, async () => 3)
    const alpha = workflow('hello', { version: '3.0.0-alpha.9' }, async () => 3)

    expect(registryOf([hello, beta]).latest('hello')).toBe(hello)
    expect(registryOf([beta, alpha]).latest('hello')).toBe(beta)
  })

  test('a version that is only a contract is not the latest', () => {
    const contract = workflow<number, number>('hello')

    expect(registryOf([contract, second]).latest('hello')).toBe(second)
    expect(registryOf([contract, greet]).latest('hello')).toBeUndefined()
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

  test('a workflow that calls a different definition of a registered activity warns once', () => {
    const told: object[] = []
    const registry = registryOf([hello, greet], undefined, (data) => told.push(data))
    const called = definitionOf(activity('greet', () => 'ho'))
    const unknown = definitionOf(activity('wave', () => 'hi'))
    const alike = definitionOf(activity('wave', () => 'ho'))

    for (const learnt of [definitionOf(greet), unknown, alike, called, called]) {
      registry.learn(learnt)
    }

    expect(told).toEqual([{ activity: 'greet' }])
    expect(registry.activity('greet')).toBe(greet)
    expect(registry.activity('wave')).toBe(unknown)
  })

  test('in development the later of two definitions replaces the earlier, with a warning', () => {
    const warnings: [object, string][] = []
    const warn = (data: object, message: string): number => warnings.push([data, message])
    const [changed, reworded] = [workflow('hello', async () => 3), activity('greet', () => 'ho')]

    const registry = registryOf([hello, greet, { changed, reworded }, reworded], warn)

    expect(registry.workflows).toEqual([changed])
    expect(registry.latest('hello')).toBe(changed)
    expect(registry.activity('greet')).toBe(reworded)
    expect(warnings).toEqual([
      [
        { workflow: 'hello' },
        'open: two different definitions of workflow "hello 1.0.0"; using the later one',
      ],
      [
        { activity: 'greet' },
        'open: two different definitions of activity "greet"; using the later one',
      ],
    ])
  })

  test('a workflow and an activity may have one name', () => {
    expect(() => registryOf([hello, activity('hello', () => 1)])).not.toThrow()
  })

  test.each<[unknown]>([[[]], [{}], [{ a: 1 }], [activity('contract')]])(
    'one without code is refused: %j',
    (value) => {
      expect(() => registryOf(value as Registrable)).toThrow(
        'open: register contains no workflow and no activity with code',
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

/** A definition as the engine sees it. */
function definitionOf(given: AnyActivity): ActivityDefinition {
  return registryOf(given).activity(given.name)!
}
