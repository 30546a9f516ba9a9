import { expect, test } from 'vitest'

import { NondeterminismError } from '../../src/engine/replay/nondeterminism.ts'
import type { CommandEvent, Event } from '../../src/store/history.ts'
import type { Part } from '../support/programs.ts'
import { isCommand, openAfter } from './history.ts'
import { eventsOf, type LivedExecution } from './random-instance.ts'
import { pastOf, Player } from './player.ts'
import { forLives, ofMany } from './seeds.ts'

/** A program with a history in which an event is replaced by others. */
function replaced(
  program: Part,
  { birth, turns }: LivedExecution,
  victim: Event,
  others: readonly Event[],
): Player {
  const changed = turns.map(({ at, events }) => ({
    at,
    events: events.flatMap((event) => (event === victim ? others : [event])),
  }))
  return new Player(program, birth, { past: pastOf(changed) })
}

/** The error that a replay ends with. */
async function replayError(player: Player): Promise<unknown> {
  const input = { at: 0, inbox: [], arrivals: [] }
  return player.turn(input).catch((thrown: unknown) => thrown)
}

test('a command that was recorded differently is detected, at its position', async () => {
  const found = new Set<string>()
  let count = 0

  const runs = await forLives(async ({ executions }, program, dice) => {
    const lived = dice.pick(executions)
    const commands = eventsOf(lived).filter(isCommand)
    if (commands.length === 0) return
    const victim = dice.pick(commands)
    const error = await replayError(
      replaced(program, lived, victim, [dice.pick(changesOf(victim))]),
    )

    expect(error).toBeInstanceOf(NondeterminismError)
    expect((error as NondeterminismError).position).toBe(victim.command)
    found.add(victim.type)
    count++
  })

  expect(count / runs).toBeGreaterThan(ofMany(0.6))
  expect(found.size).toBeGreaterThan(ofMany(7))
})

test('a command that is missing from history, or extra in it, is detected', async () => {
  let [missing, doubled] = [0, 0]

  const runs = await forLives(async ({ executions }, program, dice) => {
    const lived = dice.pick(executions)
    const events = eventsOf(lived)
    const commands = events.filter(isCommand)
    if (commands.length === 0) return
    const victim = dice.pick(commands)
    const twice = dice.oneIn(2)
    // What nothing follows looks as if the code had only now come to it.
    if (!twice && !isFollowed(victim, events)) return
    const player = replaced(program, lived, victim, twice ? [victim, victim] : [])

    expect(await replayError(player)).toBeInstanceOf(NondeterminismError)
    if (twice) doubled++
    else missing++
  })

  expect(doubled / runs).toBeGreaterThan(ofMany(0.2))
  expect(missing / runs).toBeGreaterThan(ofMany(0.2))
})

test('a state change that was recorded differently is detected', async () => {
  let found = 0

  await forLives(async ({ executions }, program, dice) => {
    const lived = dice.pick(executions)
    const changes = eventsOf(lived).filter(isChangeOfState)
    if (changes.length === 0) return
    const victim = dice.pick(changes)
    const other = dice.pick(CHANGES_OF_STATE.filter(({ type }) => type !== victim.type))
    const player = replaced(program, lived, victim, [other])

    expect(await replayError(player)).toBeInstanceOf(NondeterminismError)
    found++
  })

  expect(found).toBeGreaterThan(ofMany(0))
})

test('a command that history cancels is detected when the code still waits for it', async () => {
  let found = 0

  const runs = await forLives(async ({ executions }, program, dice) => {
    const { birth, turns } = dice.pick(executions)
    const lived = turns.slice(0, 1 + dice.below(turns.length))
    const past = pastOf(lived)
    const events = past.flatMap((turn) => turn.events)
    // A child that outlives the code is dropped once it runs.
    const hasEnded = lived.at(-1)!.decision.outcome.endsWith('with work left')
    const isLeft = (of: number): boolean =>
      hasEnded && events.some((event) => event.type === 'child' && event.command === of)
    const open = openAfter(events).filter((of) => !isLeft(of))
    if (open.length === 0) return
    const command = dice.pick(open)
    past.push({ at: past.at(-1)!.at, events: [{ type: 'dropped', command }] })
    const error = await replayError(new Player(program, birth, { past }))

    expect(error).toBeInstanceOf(NondeterminismError)
    expect((error as NondeterminismError).position).toBe(command)
    found++
  })

  expect(found / runs).toBeGreaterThan(ofMany(0.3))
})

/** Whether history shows in what comes later that there was such a command. */
function isFollowed({ command, type }: CommandEvent, events: readonly Event[]): boolean {
  return events.some(
    (event) =>
      event.type !== type &&
      event.type !== 'attempt' &&
      'command' in event &&
      event.command === command,
  )
}

/** The same command with another kind, name or input. */
function changesOf(event: CommandEvent): readonly CommandEvent[] {
  const { command } = event
  const others = OTHER_COMMANDS.filter(({ type }) => type !== event.type)
  return [...others.map((other) => ({ ...other, command })), ...variantsOf(event)]
}

function variantsOf(event: CommandEvent): readonly CommandEvent[] {
  switch (event.type) {
    case 'timer':
      return []
    case 'step':
    case 'receive':
      return [{ ...event, name: `${event.name}2` }]
    case 'activity':
      return [
        { ...event, name: `${event.name}2` },
        { ...event, input: `[${event.input}]` },
      ]
    case 'child':
      return [
        { ...event, workflow: `${event.workflow}2` },
        { ...event, input: `[${event.input}]` },
      ]
    case 'start':
      return [
        { ...event, workflow: `${event.workflow}2` },
        { ...event, input: `[${event.input}]` },
        // An id that the engine chose may differ until it is answered.
        ...(event.id === 'friend' ? [{ ...event, id: 'foe' }] : []),
      ]
    case 'send':
      return [
        { ...event, id: `${event.id}2` },
        { ...event, name: `${event.name}2` },
        { ...event, value: `[${event.value}]` },
      ]
    case 'read':
      return [
        { ...event, id: `${event.id}2` },
        { ...event, key: `${event.key}2` },
      ]
  }
}

const KID = { workflow: 'kid', version: '1.0.0', id: 'k', input: 'null', options: '{}' }

const OTHER_COMMANDS: readonly CommandEvent[] = [
  { type: 'timer', command: 0, fireAt: 1 },
  { type: 'step', command: 0, name: 'read' },
  {
    type: 'activity',
    command: 0,
    name: 'mail',
    input: 'null',
    where: 'local',
    tag: '',
    session: '',
  },
  { type: 'receive', command: 0, name: 'red', until: 0 },
  { type: 'child', command: 0, ...KID },
  { type: 'start', command: 0, ...KID },
  { type: 'send', command: 0, id: 'one', name: 'red', capacity: 1, value: 'null' },
  { type: 'read', command: 0, id: 'one', key: 'total' },
]

const CHANGES_OF_STATE: readonly Event[] = [
  { type: 'set', key: 'total', value: '1' },
  { type: 'unset', key: 'total' },
  { type: 'cleared' },
]

function isChangeOfState({ type }: Event): boolean {
  return type === 'set' || type === 'unset' || type === 'cleared'
}
