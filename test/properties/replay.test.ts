import { expect, test } from 'vitest'

import { type Event, writeEvents } from '../../src/store/history.ts'
import type { Dice, Part } from '../support/programs.ts'
import { openAfter } from './history.ts'
import {
  eventsOf,
  type RandomInstance,
  live,
  type LivedExecution,
  MAX_TURNS,
} from './random-instance.ts'
import { pastOf, Player, type Turn } from './player.ts'
import { forLives, forPrograms, ofMany, one } from './seeds.ts'

// Of a long history, so that it is cheaper to try more programs.
const MAX_PREFIXES = one ? MAX_TURNS : 3

/** The turns after which an execution may be read again: one that is over never is. */
function places({ player, turns }: LivedExecution): number[] {
  const last = player.over ? turns.length - 1 : turns.length
  return Array.from({ length: last }, (_, i) => i + 1)
}

function somePlaces(
  { executions }: RandomInstance,
  dice: Dice,
): { lived: LivedExecution; from: number }[] {
  const all = executions.flatMap((lived) => places(lived).map((from) => ({ lived, from })))
  return dice.shuffle(all).slice(0, MAX_PREFIXES)
}

/** An execution that is read from the store after its turn `from`. */
function read(program: Part, { birth, turns }: LivedExecution, from: number): Player {
  const player = new Player(program, birth, { past: pastOf(turns.slice(0, from)) })
  return player.readInbox(turns[from - 1]!.inboxAfter)
}

/** Takes turns with the same inputs; expects the same decisions. */
async function repeat(player: Player, turns: readonly Turn[]): Promise<void> {
  for (const { decision, ...input } of turns) {
    const { events: _, ...again } = await player.turn(input)

    expect(again).toEqual(decision)
  }
}

/** Takes a turn in which nothing arrives; expects that nothing happens. */
async function expectRest(player: Player, { at, decision }: Turn): Promise<void> {
  const { events, open, effects } = await player.turn({ at, inbox: [], arrivals: [] })

  expect({ events, open, effects }).toEqual({ events: [], open: decision.open, effects: null })
}

test('a program decides the same from any prefix of its history', async () => {
  const types = new Map<string, number>()
  let ended = 0

  const runs = await forLives(async (registration, program, dice) => {
    for (const { type } of registration.executions.flatMap(eventsOf)) {
      types.set(type, (types.get(type) ?? 0) + 1)
    }
    if (registration.executions.at(-1)!.player.over) ended++
    for (const { lived, from } of somePlaces(registration, dice)) {
      const again = read(program, lived, from)
      const { turns } = lived
      if (from === turns.length) await expectRest(again, turns.at(-1)!)
      else await repeat(again, turns.slice(from))

      expect(again.seen).toEqual(lived.player.seen)
      expect(again.received).toEqual(lived.player.received)
    }
  })

  expect(ended / runs).toBeGreaterThan(ofMany(0.8))
  const rare = EVENT_TYPES.filter((type) => (types.get(type) ?? 0) < ofMany(runs / 200))
  expect(rare).toEqual([])
})

test('a program that a client started decides the same as one started here', async () => {
  await forLives(async ({ executions: [lived] }, program) => {
    const [first, ...rest] = lived!.turns
    const [started, ...commands] = first!.events
    const past = [{ at: first!.at, events: [started!] }]
    const again = new Player(program, lived!.birth, { past })
    const { text, open } = await again.turn(first!)

    expect(text).toBe(writeEvents(commands))
    expect(open).toEqual(first!.decision.open)
    await repeat(again, rest)
    expect(again.seen).toEqual(lived!.player.seen)
  }, 1 / 3)
})

test('after a replay all open commands are carried out again, and nothing else', async () => {
  let found = 0

  const runs = await forLives(async (registration, program, dice) => {
    for (const { lived, from } of somePlaces(registration, dice)) {
      const past = lived.turns.slice(0, from).flatMap(({ events }) => events)
      // All that it does is new.
      if (past.length === 1) continue
      const again = read(program, lived, from)
      await again.turn({ at: 0, inbox: [], arrivals: [] })
      const open = openAfter(past)

      expect(again.issued).toEqual(open)
      expect([...again.instance.run.open.keys()]).toEqual(open)
      found += open.length
    }
  }, 1 / 3)

  expect(found / runs).toBeGreaterThan(ofMany(1))
})

test('patched code replays histories from before the patch', async () => {
  let asked = 0

  const runs = await forPrograms(async (program, dice) => {
    const [lived] = (await live(program, dice, { changed: false })).executions
    const past = places(lived!).findLast((from) => endsWithDecision(lived!, from))
    if (past === undefined) return
    const again = read(program, lived!, past)

    await expectRest(again, lived!.turns[past - 1]!)
    if (again.seen.some((line) => line.startsWith('patched'))) asked++
  }, 1 / 3)

  expect(asked / runs).toBeGreaterThan(ofMany(0.05))
})

/** Whether the code did something in a turn; otherwise it may as well do now what is new to it. */
function endsWithDecision({ turns }: LivedExecution, from: number): boolean {
  const last = turns[from - 1]!.events.at(-1)
  return last !== undefined && !INPUTS.includes(last.type)
}

const INPUTS: readonly Event['type'][] = [
  'attempt',
  'completed',
  'failed',
  'fired',
  'received',
  'cancelled',
]

const EVENT_TYPES: readonly Event['type'][] = [
  'activity',
  'step',
  'timer',
  'child',
  'start',
  'receive',
  'send',
  'read',
  'attempt',
  'completed',
  'failed',
  'fired',
  'received',
  'cancelled',
  'dropped',
  'set',
  'unset',
  'cleared',
  'progress',
  'replied',
  'patched',
]
