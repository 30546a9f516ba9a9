import { expect, test } from 'vitest'

import type { TimelineEvent } from '../../timeline/spans.ts'
import { summaryOf } from './summary.ts'

const ERROR = { name: 'Error', message: 'gateway answered 503', stack: 'Error: …' }

test.each<[string, TimelineEvent['data'], string]>([
  ['started', { input: { total: 3 } }, '{ total: 3 }'],
  ['activity', { command: 1, name: 'charge', input: 7 }, 'charge 7'],
  ['receive', { command: 1, name: 'approval', until: { $: 'undefined' } }, 'approval'],
  ['failed', { command: 1, error: ERROR }, 'Error: gateway answered 503'],
  ['attempt', { attempt: 2, error: ERROR }, 'attempt 2 failed: Error: gateway answered 503'],
  ['set', { key: 'stage', value: 'paid' }, 'stage = "paid"'],
  ['ended', { status: 'completed' }, 'completed'],
  ['fired', { command: 2 }, ''],
])('an event of type %s with %j is summed up as %s', (type, data, text) => {
  expect(summaryOf({ seq: 1, at: 0, type, data })).toBe(text)
})
