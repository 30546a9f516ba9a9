import { expect, test } from 'vitest'
import { UsageError } from '../errors/cli-error.ts'
import { labelValues } from './values.ts'

test('labels are pairs, in which the value may contain the sign', () => {
  expect(labelValues(['a=1', 'b=x=y', 'a=1'])).toEqual({ a: '1', b: 'x=y' })
  expect(labelValues([])).toBeUndefined()
})

test.each([
  [['a'], '--label must be <name>=<value>, got "a"'],
  [['=1'], '--label must be <name>=<value>, got "=1"'],
  [['a=1', 'a=2'], '--label a has two values, "1" and "2"; give one'],
])('labels %j are refused', (texts, message) => {
  expect(() => labelValues(texts)).toThrow(new UsageError(message))
})
