import { describe, expect, test } from 'vitest'
import { positional } from './placeholders.ts'

describe('numbered values', () => {
  test('are bound in the order in which the text uses them', () => {
    expect(positional('select $2, $1, $2', ['a', 'b'])).toEqual({
      text: 'select ?, ?, ?',
      values: ['b', 'a', 'b'],
    })
  })

  test('are not looked for in string literals, names and comments', () => {
    const text = `select '$1 it''s', "$1", [$1], \`$1\` /* $1 */, $1 -- $1`

    expect(positional(text, [7])).toEqual({ text: text.replace(', $1 --', ', ? --'), values: [7] })
  })

  test('that are missing are refused', () => {
    expect(() => positional('select $2', ['a'])).toThrow('there is no value for $2: got 1')
  })

  test('a statement without them is left as it is', () => {
    const values = [1, 2]

    expect(positional('select ?, ?', values)).toEqual({ text: 'select ?, ?', values })
    expect(positional(`select '$1', ?, ?`, values)).toEqual({ text: `select '$1', ?, ?`, values })
  })
})
