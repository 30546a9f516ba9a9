import { expect, test } from 'vitest'

import type { Effects } from '../../src/store/commits.ts'
import { eventsOf, type LivedExecution } from './random-instance.ts'
import { forLives, ofMany } from './seeds.ts'

/** The state that an execution leaves by its history. */
function stateInHistory(lived: LivedExecution): Map<string, string> {
  const state = readState(lived.birth.state)
  for (const event of eventsOf(lived)) {
    if (event.type === 'set') state.set(event.key, event.value)
    else if (event.type === 'unset') state.delete(event.key)
    else if (event.type === 'cleared') state.clear()
  }
  return state
}

/** What the store makes of a turn. */
function record(state: Map<string, string>, effects: Effects | null): void {
  if (effects?.clearsState) state.clear()
  for (const { key, value } of effects?.state ?? []) {
    if (value === null) state.delete(key)
    else state.set(key, value)
  }
}

function readState(text: string): Map<string, string> {
  if (text === '') return new Map()
  const entries = JSON.parse(text) as readonly [key: string, value: string, at: number][]
  return new Map(entries.map(([key, value]) => [key, value]))
}

test('the code, its history, the store and the next execution agree about state', async () => {
  let [kept, handedOn] = [0, 0]

  const runs = await forLives(({ executions }) => {
    const stored = new Map<string, string>()
    for (const lived of executions) {
      for (const { decision } of lived.turns) record(stored, decision.effects)

      expect(sorted(stored)).toEqual(sorted(stateInHistory(lived)))
      expect(sorted(readState(lived.player.instance.writeState()))).toEqual(sorted(stored))
      kept += stored.size
      if (lived.birth.state !== '') handedOn++
    }
  })

  expect(kept / runs).toBeGreaterThan(ofMany(0.05))
  expect(handedOn).toBeGreaterThan(ofMany(0))
})

const sorted = (state: ReadonlyMap<string, string>): [string, string][] =>
  [...state].toSorted(([a], [b]) => (a < b ? -1 : 1))
