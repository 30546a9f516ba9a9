import { expect, test } from 'vitest'

import { readEvents } from '../../src/store/history.ts'
import { isCommand, openAfter } from './history.ts'
import { eventsOf } from './random-instance.ts'
import { forLives, ofMany } from './seeds.ts'

test('a cancellation drops all that it may reach at once, and nothing else', async () => {
  let [dropped, spared] = [0, 0]

  const runs = await forLives(({ executions }) => {
    for (const lived of executions) {
      const events = eventsOf(lived)
      const at = events.findIndex(({ type }) => type === 'cancelled')
      // Code that asked for its next execution has nothing left that could be reached.
      if (at < 0 || lived.player.instance.run.outcome?.kind === 'continued') continue
      const open = openAfter(events.slice(0, at))
      const reached = open.filter((command) => lived.player.reachable.get(command))

      expect(events.slice(at + 1, at + 1 + reached.length)).toEqual(
        reached.map((command) => ({ type: 'dropped', command })),
      )
      expect(openAfter(events.slice(0, at + 1 + reached.length))).toEqual(
        open.filter((command) => !reached.includes(command)),
      )
      dropped += reached.length
      spared += open.length - reached.length
    }
  })

  expect(dropped / runs).toBeGreaterThan(ofMany(0.1))
  expect(spared / runs).toBeGreaterThan(ofMany(0.01))
})

test('after a cancellation only shielded code does anything, and the end is a cancelled one', async () => {
  let [later, ended] = [0, 0]

  const runs = await forLives(({ executions }) => {
    for (const lived of executions) {
      const events = eventsOf(lived)
      const at = events.findIndex(({ type }) => type === 'cancelled')
      if (at < 0) continue
      const { player } = lived
      const after = events.slice(at).filter(isCommand)

      expect(after.filter(({ command }) => player.reachable.get(command))).toEqual([])
      expect(player.unshielded).toEqual([])
      expect(player.over ? player.outcome : 'cancelled by CancelledError').toContain(
        'cancelled by CancelledError',
      )
      later += after.length
      if (player.over) ended++
    }
  })

  expect(later / runs).toBeGreaterThan(ofMany(0.1))
  expect(ended / runs).toBeGreaterThan(ofMany(0.1))
})

test('a cancellation is not lost when the next execution begins', async () => {
  let [continued, cancelled] = [0, 0]

  await forLives(({ executions, posted }) => {
    const cancels = new Set(posted.filter(({ kind }) => kind === 'cancel').map(({ id }) => id))
    for (const lived of executions.slice(0, -1)) {
      const taken = lived.turns.flatMap(({ decision }) => decision.taken)

      expect(taken.filter((id) => cancels.has(id))).toEqual([])
      continued++
    }
    cancelled += cancels.size
  })

  expect(continued).toBeGreaterThan(ofMany(0))
  expect(cancelled).toBeGreaterThan(ofMany(0))
})

test('a dropped command gets no result and is not dropped again', async () => {
  let dropped = 0

  const runs = await forLives(({ executions }) => {
    for (const lived of executions) {
      const closed = new Set<number>()
      for (const event of eventsOf(lived)) {
        if (!('command' in event) || isCommand(event)) continue

        expect([...closed]).not.toContain(event.command)
        if (event.type !== 'dropped') continue
        closed.add(event.command)
        dropped++
      }
    }
  })

  expect(dropped / runs).toBeGreaterThan(ofMany(1))
})

test('at the end only starts, sends and children that outlive it are left, and they are carried out before it', async () => {
  let left = 0

  await forLives(({ executions }) => {
    for (const lived of executions) {
      for (const { decision } of lived.turns) {
        if (!decision.outcome.endsWith('with work left')) continue
        left++

        const kinds = decision.open
          .flatMap((text) => readEvents(text))
          .map((event) => (event.type === 'child' ? event.options : event.type))
        expect(kinds.filter((kind) => !/^(start|send|.*"abandon".*)$/.test(kind))).toEqual([])
      }
      expect(lived.player.over ? openAfter(eventsOf(lived)) : []).toEqual([])
    }
  })

  expect(left).toBeGreaterThan(ofMany(0))
})
