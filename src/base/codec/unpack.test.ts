import { expect, test } from 'vitest'

import { decode } from './codec.ts'

test.each([
  ['', 'codec: cannot read ""'],
  ['!', 'codec: cannot read "!"'],
  ['nonsense', 'codec: cannot read "nonsense"'],
  [`[${'1,'.repeat(50)}`, 'codec: cannot read "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1…"'],
  ['!"!q1"', 'codec: unknown tag "!q1"; was it written by a newer version?'],
  ['!["!q",1]', 'codec: unknown tag "!q"; was it written by a newer version?'],
  ['!"!"', 'codec: unknown tag "!"; was it written by a newer version?'],
  ['![1,"!m"]', 'codec: unknown tag "!m"; was it written by a newer version?'],
  ['!"!u1"', 'codec: cannot read "!u1"'],
  ['!"!n1"', 'codec: cannot read "!n1"'],
  ['!"!i"', 'codec: cannot read "!i"'],
  ['!"!i0x1"', 'codec: cannot read "!i0x1"'],
  ['!"!dsoon"', 'codec: cannot read "!dsoon"'],
  ['!"!bA*=="', 'codec: cannot read "!bA*=="'],
  ['!["!m",1]', 'codec: cannot read a Map with a key that has no value'],
  ['!["!e"]', 'codec: cannot read an error'],
  ['!["!e",null]', 'codec: cannot read an error'],
  [`!${'['.repeat(1e5)}${']'.repeat(1e5)}`, 'codec: cannot read more than 1000 levels of nesting'],
])('the text %s is refused', (text, message) => {
  expect(() => decode(text)).toThrow(expect.objectContaining({ name: 'SyntaxError', message }))
})
