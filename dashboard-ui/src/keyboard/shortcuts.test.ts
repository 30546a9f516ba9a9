import { expect, test } from 'vitest'

import { matching, type Shortcut } from './shortcuts.ts'

const shortcut = (keys: string): Shortcut => ({ keys, what: keys, run: () => {} })
const [help, goInstances, ofPage, ofScreen] = ['?', 'g i', 'x', 'x'].map(shortcut)
const all = [help!, goInstances!, ofPage!, ofScreen!]

test('a single key runs its shortcut, and that of the screen wins', () => {
  expect(matching(all, '', '?')).toBe(help)
  expect(matching(all, '', 'x')).toBe(ofScreen)
  expect(matching(all, '', 'q')).toBeUndefined()
})

test('two keys, one after the other, run theirs', () => {
  expect(matching(all, '', 'g')).toBe('wait')
  expect(matching(all, 'g', 'i')).toBe(goInstances)
  expect(matching(all, 'g', '?')).toBe(help)
})
