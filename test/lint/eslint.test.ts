import { type ESLint, Linter } from 'eslint'
import { describe, expect, test } from 'vitest'
import plugin from '../../src/eslint/index.ts'
import { INVALID, VALID } from './cases.ts'

// The types of ESLint accept the plugin as it is.
const config: Linter.Config = plugin.configs.recommended
const typed: ESLint.Plugin = plugin

function lint(code: string): string[] {
  const messages = new Linter().verify(code, [
    { languageOptions: { globals: { process: false, performance: false } } },
    config,
  ])
  return messages
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ ruleId, message }) => `${String(ruleId).replace('holdfast/', '')}: ${message}`)
}

describe('under ESLint', () => {
  test.each(INVALID)('$title', ({ code, finds }) => {
    expect(lint(code)).toEqual(finds.map((start) => expect.stringContaining(start)))
  })

  test.each(VALID)('nothing is wrong with $title', ({ code }) => {
    expect(lint(code)).toEqual([])
  })

  test.each(['commonjs', 'script', 'module'] as const)(
    'variables of the module are found in a file read as %s',
    (sourceType) => {
      const code = `const { workflow } = require('holdfast')
        let count = 0
        const seen = new Map()
        exports.w = workflow('w', async (input, ctx) => { count++; seen.set(1, 2); let own = 0; own++ })`
      const messages = new Linter().verify(code, [{ languageOptions: { sourceType } }, config])

      expect(messages.map(({ message }) => message.slice(0, 7))).toEqual(['"count"', '"seen" '])
    },
  )

  test('a problem can be allowed on its line, with a reason', () => {
    const [{ code }] = INVALID as [(typeof INVALID)[0]]
    const allowed = code.replace(
      'return Date.now()',
      '// eslint-disable-next-line holdfast/no-clock -- for a test\nreturn Date.now()',
    )

    expect(lint(code)).toHaveLength(1)
    expect(lint(allowed)).toEqual([])
  })

  test('the recommended configuration has every rule', () => {
    expect(Object.keys(config.rules!)).toEqual(
      Object.keys(typed.rules!).map((name) => `holdfast/${name}`),
    )
  })
})
