// The checks of the rounds are only worth something if they find what they look for.

import { expect, test } from 'vitest'
import { type Event, writeEvents } from '../../src/store/history.ts'
import type { Loaded, TurnRow } from '../../src/store/workflow-store.ts'
import { STARTED } from '../support/executions.ts'
import { checkEffects, checkHistory } from './check.ts'
import type { Line } from './ledger.ts'

const ONE: Event = { type: 'activity', command: 1, name: 'quick', where: 'local', input: '1' }
const TWO: Event = { ...ONE, command: 2 }
const GOOD = turns(
  [{ ...STARTED, workflow: 'w' }, ONE],
  [{ type: 'completed', command: 1, value: '10' }, TWO],
  [
    { type: 'completed', command: 2, value: '20' },
    { type: 'ended', status: 'completed' },
  ],
)

test('a history without gaps passes', () => {
  expect(checkHistory(GOOD)).toEqual([])
})

test('a history that lacks a turn, has one twice, or has no end is found', () => {
  expect(checkHistory([GOOD[0]!, GOOD[2]!])).not.toEqual([])
  expect(checkHistory([GOOD[0]!, GOOD[1]!, GOOD[1]!, GOOD[2]!])).not.toEqual([])
  expect(checkHistory(GOOD.slice(0, 2))).not.toEqual([])
})

test('effects that a crash repeats before they are recorded pass', () => {
  const lines = [line('begin', 1), line('begin', 1), line('end', 1, 10), line('begin', 2)]

  expect(effects([...lines, line('end', 2, 20), { what: 'ended', id: 'a' }])).toEqual([])
})

test('an effect that begins after its result was recorded is found', () => {
  const lines = [line('begin', 1), line('end', 1, 10), line('begin', 2), line('begin', 1)]

  expect(effects([...lines, line('end', 2, 20)])).toEqual([
    'a: command 1 "quick" (attempt 1) began in process 1 after its result was recorded',
  ])
})

test('an effect that begins after the end was told is found', () => {
  const lines = [line('begin', 1), line('end', 1, 10), line('begin', 2), line('end', 2, 20)]

  expect(effects([...lines, { what: 'ended', id: 'a' }, line('begin', 2)])).toHaveLength(1)
})

test('an effect without a cause, and a result without an effect, are found', () => {
  expect(effects([line('begin', 3)])).toEqual([
    'a: command 3 "quick" (attempt 1) ran without a recorded cause',
    'a: command 1 is recorded as 10, unseen',
    'a: command 2 is recorded as 20, unseen',
  ])
})

function effects(lines: readonly Line[]): string[] {
  const workflow = { name: 'w', version: '1.0.0' }
  const loaded: Loaded = {
    iid: 1,
    id: 'a',
    workflow,
    execution: 1,
    parent: null,
    history: GOOD,
    inbox: [],
  }
  return checkEffects(loaded, lines)
}

function line(what: 'begin' | 'end', command: number, value?: unknown): Line {
  return { what, pid: 1, id: 'a', name: 'quick', key: `1-1-${command}`, attempt: 1, value }
}

function turns(...all: readonly Event[][]): TurnRow[] {
  let first = 1
  return all.map((events, i) => {
    const row = { execution: 1, turn: i + 1, at: i, first, count: events.length }
    first += events.length
    return { ...row, events: writeEvents(events) }
  })
}
