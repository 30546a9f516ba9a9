import { expect, test } from 'vitest'

import { type Event, readEvents } from '../../store/history.ts'
import { cutAfter, momentsOf, stateAfter, turnsOf } from './past.ts'

const started = (state = ''): Event => ({
  type: 'started',
  workflow: 'w',
  version: '1.0.0',
  input: 'null',
  seed: '',
  parentId: '',
  state,
})
const step = (command: number): Event => ({ type: 'step', command, name: 's' })
const done = (command: number): Event => ({ type: 'completed', command, value: '1' })
const at = (ms: number, ...events: Event[]) => events.map((event) => ({ at: ms, event }))

test('events of one time are one turn, and each keeps its number', () => {
  const moments = [...at(5, started(), step(1)), ...at(7, done(1), step(2)), ...at(9, done(2))]

  const turns = turnsOf(3, moments)

  expect(turns.map(({ events, ...rest }) => ({ ...rest, types: typesOf(events) }))).toEqual([
    { execution: 3, turn: 1, at: 5, first: 1, count: 2, types: ['started', 'step'] },
    { execution: 3, turn: 2, at: 7, first: 3, count: 2, types: ['completed', 'step'] },
    { execution: 3, turn: 3, at: 9, first: 5, count: 1, types: ['completed'] },
  ])
  expect(momentsOf(turns)).toEqual(moments)
})

test('the end of an execution is left out, even when nothing else happened in its turn', () => {
  const ended: Event = { type: 'ended', status: 'terminated' }

  expect(turnsOf(1, [...at(5, started(), ended)])).toMatchObject([{ count: 1 }])
  expect(turnsOf(1, [...at(5, started()), ...at(6, ended)])).toHaveLength(1)
})

test('state is what the execution began with plus its own changes', () => {
  const base = started(
    JSON.stringify([
      ['kept', '1', 1],
      ['gone', '2', 1],
    ]),
  )
  const moments = at(
    1,
    base,
    { type: 'set', key: 'new', value: '4' },
    { type: 'unset', key: 'gone' },
    { type: 'set', key: 'new', value: '5' },
  )

  expect(stateAfter(moments)).toEqual([
    { key: 'kept', value: '1' },
    { key: 'new', value: '5' },
  ])
  expect(stateAfter([...moments, ...at(2, { type: 'cleared' })])).toEqual([])
})

function typesOf(events: string): string[] {
  return readEvents(events).map(({ type }) => type)
}

test('a history that is cut after an input says so, so that the code continues from there', () => {
  const moments = at(
    1,
    started(),
    { type: 'step', command: 1, name: 's' },
    { type: 'completed', command: 1, value: '1' },
    { type: 'step', command: 2, name: 't' },
  )
  const kept = (count: number) => cutAfter(moments, count, 7).map(({ event }) => event.type)

  expect(kept(3)).toEqual(['started', 'step', 'forked', 'completed'])
  expect(cutAfter(moments, 3, 7).map((moment) => moment.at)).toEqual([1, 1, 7, 7])
  expect(kept(4)).toEqual(['started', 'step', 'completed', 'step'])
})
