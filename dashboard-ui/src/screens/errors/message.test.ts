import { expect, test } from 'vitest'

import { reasonOfPause, whatWentWrong } from './message.ts'

test('what the table says beside it is left out of a message', () => {
  const message = 'workflow "order" failed: card 4 was declined'

  expect(whatWentWrong({ workflow: 'order', message })).toBe('card 4 was declined')
  expect(whatWentWrong({ workflow: 'other', message })).toBe(message)
})

test('an instance that someone suspended has a reason, and no error', () => {
  expect(reasonOfPause({ name: 'Error', message: 'suspended: lunch' })).toBe('lunch')
  expect(reasonOfPause({ name: 'Error', message: 'suspended' })).toBe('')
  expect(reasonOfPause({ name: 'Error', message: 'suspended twice' })).toBeUndefined()
  expect(reasonOfPause({ name: 'HistoryError', message: 'suspended: x' })).toBeUndefined()
})
