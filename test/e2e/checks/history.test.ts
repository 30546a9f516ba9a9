import { expect, test } from 'vitest'
import type { Event } from '../../../src/store/history.ts'
import type { RecordedInstance } from '../recorded-instance.ts'
import { checkEpochs, checkExecutions, checkHistory } from './history.ts'
import { BEGIN, END, GOOD, life, ONE, ONE_DONE, turns } from './made-up.ts'

test('a history without gaps passes', () => {
  expect(checkHistory(GOOD)).toEqual([])
})

test('a history that lacks a turn, has one twice, or has no end is found', () => {
  expect(checkHistory([GOOD[0]!, GOOD[2]!])).not.toEqual([])
  expect(checkHistory([GOOD[0]!, GOOD[1]!, GOOD[1]!, GOOD[2]!])).not.toEqual([])
  expect(checkHistory(GOOD.slice(0, 2))).not.toEqual([])
})

test('a command that is left open is found, unless the instance was terminated', () => {
  const dropped: Event = { type: 'dropped', command: 1 }
  const terminated: Event = { type: 'ended', status: 'terminated' }

  expect(checkHistory(turns([BEGIN, ONE], [END]))).toEqual(['ends with open commands: 1'])
  expect(checkHistory(turns([BEGIN, ONE], [dropped, END]))).toEqual([])
  expect(checkHistory(turns([BEGIN, ONE], [terminated]))).toEqual([])
})

test('a result for a command that was dropped is found', () => {
  const dropped: Event = { type: 'dropped', command: 1 }

  expect(checkHistory(turns([BEGIN, ONE], [dropped], [ONE_DONE, END]))).toEqual([
    'command 1 ends twice',
  ])
})

test('an execution that ended although there is another one is found', () => {
  const continued: Event = { type: 'ended', status: 'continued' }
  const next = turns([BEGIN, END]).map((turn) => ({ ...turn, execution: 2 }))
  const live = (first: Event): RecordedInstance => ({
    ...life('a', { execution: 2 }),
    turns: [...turns([BEGIN, first]), ...next],
  })

  expect(checkExecutions(live(continued))).toEqual([])
  expect(checkExecutions(live(END))).toEqual(['a: execution 1: ends with "completed"'])
})

test('an epoch that goes back is found', () => {
  expect(checkEpochs([1, 1, 3])).toEqual([])
  expect(checkEpochs([1, 3, 2])).toEqual(['epochs go back: 1 3 2'])
})
