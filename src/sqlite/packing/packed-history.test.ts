import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Loaded } from '../../store/claims.ts'
import { packLoad, packTurns, unpackLoad, unpackTurns } from './packed-history.ts'

const whole = fc.nat({ max: 2 ** 45 })
const rows = fc.array(
  fc.record({
    execution: whole,
    turn: whole,
    at: whole,
    first: whole,
    count: whole,
    events: fc.string({ unit: 'binary' }),
  }),
)
const loaded = fc.array(
  fc.record({
    iid: whole,
    id: fc.string(),
    workflow: fc.record({ name: fc.string(), version: fc.string() }),
    execution: whole,
    parent: fc.constant(null),
    history: rows,
    inbox: fc.constant([]),
    tasks: fc.array(fc.record({ command: whole, attempts: whole, isOwned: fc.boolean() })),
  } satisfies { [K in keyof Loaded]: fc.Arbitrary<Loaded[K]> }),
)

test('histories come out as they went in, each with its instance', () => {
  fc.assert(
    fc.property(loaded, (instances) => {
      expect(unpackLoad(structuredClone(packLoad(instances)))).toEqual(instances)
    }),
  )
})

test('rows of one history come out as they went in', () => {
  fc.assert(
    fc.property(rows, (turns) => {
      expect(unpackTurns(structuredClone(packTurns(turns)))).toEqual(turns)
    }),
  )
})
