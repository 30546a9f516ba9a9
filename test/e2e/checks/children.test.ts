import { expect, test } from 'vitest'
import type { Event } from '../../../src/store/history.ts'
import type { InstanceRow } from '../../../src/store/instances.ts'
import type { RecordedInstance } from '../recorded-instance.ts'
import { checkChildren } from './children.ts'
import { BEGIN, END, life, ONE_DONE, turns } from './made-up.ts'

const STARTS: Event = {
  type: 'child',
  command: 1,
  workflow: 'w',
  version: '1.0.0',
  id: 'c',
  input: '1',
  options: '{}',
}
const link = { iid: 1, id: 'a', execution: 1, command: 1 }
const parent = (...settled: Event[]): RecordedInstance => ({
  ...life('a'),
  turns: turns([BEGIN, STARTS], [...settled, END]),
})
const child = (
  row: Partial<InstanceRow>,
  onClose: 'cancel' | 'terminate' | 'abandon',
): RecordedInstance => life('c', { iid: 2, parent: { ...link, onClose }, ...row })
const dropped: Event = { type: 'dropped', command: 1 }

test('a child that ended as its parent recorded passes', () => {
  expect(checkChildren([parent(ONE_DONE), child({ output: '10' }, 'cancel')])).toEqual([])
})

test('a result that the child does not have, and a child that is not there, are found', () => {
  expect(checkChildren([parent(ONE_DONE), child({ output: '11' }, 'cancel')])).toHaveLength(1)
  expect(checkChildren([parent(ONE_DONE)])).toHaveLength(1)
})

test.each([
  ['cancel', 'cancelled', 'running'],
  ['terminate', 'terminated', 'cancelled'],
  ['abandon', 'completed', 'cancelled'],
] as const)(
  'a child that was left (%s) may be %s; one that is %s is found',
  (policy, fine, wrong) => {
    expect(checkChildren([parent(dropped), child({ status: fine }, policy)])).toEqual([])
    expect(checkChildren([parent(dropped), child({ status: wrong }, policy)])).toEqual([
      `a: child 1.1 "c" was left (${policy}), but is ${wrong}`,
    ])
  },
)

test('a start that was left at the return and not carried out is found', () => {
  const starts: Event = { ...STARTS, type: 'start' }
  const left = { ...life('a'), turns: turns([BEGIN, starts], [dropped, END]) }
  const done = { ...life('a'), turns: turns([BEGIN, starts], [ONE_DONE, END]) }

  expect(checkChildren([left])).toEqual(['a: start 1.1 "c" is dropped'])
  expect(checkChildren([done])).toEqual(['a: start 1.1 "c" was started and is not there'])
})

test('a child that its parent did not start is found', () => {
  const without = { ...life('a'), turns: turns([BEGIN, END]) }

  expect(checkChildren([without, child({}, 'cancel')])).toEqual([
    'c: its parent a has no record of starting it',
  ])
})
