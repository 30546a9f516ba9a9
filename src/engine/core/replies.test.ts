import { expect, test } from 'vitest'

import { decodeReply, encodeReply, replyAddress } from './replies.ts'
import { valuesOf } from './values.ts'

const values = valuesOf(undefined)

test('a reply comes back as the value that was sent', () => {
  const payload = encodeReply(true, values.encode({ total: 3n }, 'reply'))

  expect(decodeReply(payload, values)).toEqual({ total: 3n })
})

test('a rejected request comes back as the error it was rejected with', () => {
  const payload = encodeReply(false, values.encodeError(new RangeError('too many')))

  expect(() => decodeReply(payload, values)).toThrow(new RangeError('too many'))
})

test('two instances never answer for each other', () => {
  expect(replyAddress(1, '2 x')).not.toBe(replyAddress(12, ' x'))
  expect(replyAddress(1, 'x')).not.toBe(replyAddress(2, 'x'))
})
