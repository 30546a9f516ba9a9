import { expect, test } from 'vitest'
import type { Event } from '../../../src/store/history.ts'
import type { Line } from '../ledger.ts'
import type { RecordedInstance } from '../recorded-instance.ts'
import { BEGIN, END, life, ONE_DONE, turns } from './made-up.ts'
import { checkMail } from './mail.ts'

const RECEIVES: Event = { type: 'receive', command: 1, name: 'box', until: 0 }
const AGAIN: Event = { ...RECEIVES, command: 2 }
const got = (command: number, text: string): Event => {
  return { type: 'received', command, value: JSON.stringify(text), replyTo: '' }
}
const reader = (...all: string[]): RecordedInstance => ({
  ...life('a'),
  turns: turns([BEGIN, RECEIVES, AGAIN], [...all.map((text, i) => got(i + 1, text)), END]),
})
const line = (what: 'sending' | 'sent', value: string): Line => {
  return { what, id: 'a', channel: 'box', value }
}
const sends: Event = {
  type: 'send',
  command: 1,
  id: 'a',
  name: 'box',
  capacity: 1,
  value: '"x"',
}

test('a message that was received once, or waits, passes', () => {
  const waiting = { id: 'a', channel: 'box', payload: '"y"' }

  expect(checkMail([reader('x')], [], [line('sending', 'x'), line('sent', 'x')])).toEqual([])
  expect(checkMail([reader()], [waiting], [line('sent', 'y')])).toEqual([])
  expect(checkMail([reader()], [], [line('sending', 'z')])).toEqual([])
})

test('a message that was lost, came twice, or from nowhere is found', () => {
  expect(checkMail([reader()], [], [line('sent', 'x')])).toEqual([
    'a: message in "box": "x" was acknowledged and never arrived',
  ])
  expect(checkMail([reader('x', 'x')], [], [line('sent', 'x')])).toEqual([
    'a: message in "box": "x" arrived 2 times',
  ])
  expect(checkMail([reader('x')], [], [])).toEqual(['a: message in "box": "x" was never sent'])
})

test('a message of a workflow that was never received is found', () => {
  const sender = { ...life('b'), turns: turns([BEGIN, sends], [ONE_DONE, END]) }

  expect(checkMail([sender, reader('x')], [], [])).toEqual([])
  expect(checkMail([sender, reader()], [], [])).toHaveLength(1)
})

test('a message of a workflow whose send failed is found', () => {
  const failed: Event = { type: 'failed', command: 1, error: '{"message":"full"}' }
  const sender = { ...life('b'), turns: turns([BEGIN, sends], [failed, END]) }

  expect(checkMail([sender], [], [])).toEqual([
    'a: message in "box": "x" failed: {"message":"full"}',
  ])
})
