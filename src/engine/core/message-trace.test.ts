import { expect, test } from 'vitest'
import { readTracedPayload, tracedPayload } from './message-trace.ts'

test.each(['00-ab-cd-01', '00-ab-cd-01 vendor=1'])(
  'a message carries the context %s',
  (context) => {
    const payload = tracedPayload('{"a":"\\u001f"}', context)

    expect(readTracedPayload(payload)).toEqual({ value: '{"a":"\\u001f"}', trace: context })
  },
)

test.each([undefined, ''])('a message without a context is its value', (context) => {
  expect(tracedPayload('1', context)).toBe('1')
  expect(readTracedPayload('1')).toEqual({ value: '1', trace: undefined })
})
