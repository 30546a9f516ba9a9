import { expect, test } from 'vitest'
import type { Event } from '../../../src/store/history.ts'
import type { Line } from '../ledger.ts'
import { checkCleanUp, checkEffects } from './effects.ts'
import { BEGIN, END, GOOD, life, ONE, ONE_DONE, turns, TWO, TWO_DONE } from './made-up.ts'

test('effects that a crash repeats before they are recorded pass', () => {
  const lines = [line('begin', 1), line('begin', 1), line('end', 1, 10), line('begin', 2)]

  expect(effects([...lines, line('end', 2, 20), { what: 'ended', id: 'a' }])).toEqual([])
})

test('an effect that begins after its result was recorded is found', () => {
  const lines = [line('begin', 1), line('end', 1, 10), line('begin', 2), line('begin', 1)]

  expect(effects([...lines, line('end', 2, 20)])).toEqual([
    'a: command 1.1 "quick" (attempt 1) began in process 1 after it was recorded as completed',
  ])
})

test('an effect that begins after its cancellation is found', () => {
  const dropped: Event = { type: 'dropped', command: 1 }
  const history = turns([BEGIN, ONE], [dropped, TWO], [TWO_DONE, END])
  const lines = [line('begin', 2), line('end', 2, 20), line('begin', 1)]

  expect(checkEffects('a', history, lines)).toEqual([
    'a: command 1.1 "quick" (attempt 1) began in process 1 after it was recorded as dropped',
  ])
})

test('an effect that begins after the end was reported is found', () => {
  const lines = [line('begin', 1), line('end', 1, 10), line('begin', 2), line('end', 2, 20)]

  expect(effects([...lines, { what: 'ended', id: 'a' }, line('begin', 2)])).toHaveLength(1)
})

test('an effect without a cause, and a result without an effect, are found', () => {
  expect(effects([line('begin', 3)])).toEqual([
    'a: command 1.3 "quick" (attempt 1) ran without a recorded cause',
    'a: command 1.1 is recorded as 10, unseen',
    'a: command 1.2 is recorded as 20, unseen',
  ])
})

test('commands that were open at a termination may begin until the owner learns of it', () => {
  const ended: Line = { ...line('begin', 1), what: 'ended' }

  expect(checkEffects('a', turns([BEGIN, ONE], [END]), [ended, line('begin', 1)])).toEqual([])
  expect(checkEffects('a', GOOD, [ended, line('begin', 1)])).toContain(
    'a: command 1.1 "quick" (attempt 1) began in process 1 after it was recorded as completed',
  )
})

test('an effect of one execution is not taken for one of another', () => {
  const next = GOOD.map((turn) => ({ ...turn, execution: 2 }))

  expect(checkEffects('a', next, [line('begin', 1)])).toContain(
    'a: command 1.1 "quick" (attempt 1) ran without a recorded cause',
  )
})

test('reservations that were not released, and clean-up that did not run, are found', () => {
  const reserve: Event = { ...ONE, name: 'reserve' }
  const release: Event = { ...TWO, name: 'release' }
  const both = turns([BEGIN, reserve], [ONE_DONE, release], [TWO_DONE, END])
  const half = turns([BEGIN, reserve], [ONE_DONE, END])
  const cancelled = { status: 'cancelled' } as const
  const lingers = { ...cancelled, workflow: { name: 'lingers', version: '1.0.0' } }

  expect(checkCleanUp({ ...life('a', cancelled), turns: both })).toEqual([])
  expect(checkCleanUp({ ...life('a', cancelled), turns: half })).toEqual([
    'a: 1 reserved, 0 released',
  ])
  expect(checkCleanUp({ ...life('a', lingers), turns: GOOD })).toEqual([
    'a: was cancelled and cleaned up 0 times',
  ])
  expect(checkCleanUp({ ...life('a', lingers), turns: turns([BEGIN], [END]) })).toEqual([])
})

function effects(lines: readonly Line[]): string[] {
  return checkEffects('a', GOOD, lines)
}

function line(what: 'begin' | 'end', command: number, value?: unknown): Line {
  return { what, pid: 1, id: 'a', name: 'quick', key: `1-1-${command}`, attempt: 1, value }
}
