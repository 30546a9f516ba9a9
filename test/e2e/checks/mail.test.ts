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
const told = (what: 'sending' | 'sent', value: string): Line => {
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

  expect(checkMail([reader('x')], [], [told('sending', 'x'), told('sent', 'x')])).toEqual([])
  expect(checkMail([reader()], [waiting], [told('sent', 'y')])).toEqual([])
  expect(checkMail([reader()], [], [told('sending', 'z')])).toEqual([])
})

test('a message that was lost, came twice, or from nowhere is found', () => {
  expect(checkMail([reader()], [], [told('sent', 'x')])).toEqual([
    'a: message in "box": "x" was acknowledged and never arrived',
  ])
  expect(checkMail([reader('x', 'x')], [], [told('sent', 'x')])).toEqual([
    'a: message in "box": "x" arrived 2 times',
  ])
  expect(checkMail([reader('x')], [], [])).toEqual(['a: message in "box": "x" was sent by nobody'])
})

test('what a workflow sent and nobody received is found', () => {
  const sender = { ...life('b'), turns: turns([BEGIN, sends], [ONE_DONE, END]) }

  expect(checkMail([sender, reader('x')], [], [])).toEqual([])
  expect(checkMail([sender, reader()], [], [])).toHaveLength(1)
})
