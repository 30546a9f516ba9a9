/* oxlint-disable vitest/no-conditional-expect -- what holds depends on the program */
import { expect, test } from 'vitest'

import { ActivityError } from '../../src/engine/errors.ts'
import { makeContext } from '../../src/engine/context/make-context.ts'
import type { WorkflowDefinition } from '../../src/engine/definitions.ts'
import { Execution } from '../../src/engine/replay/execution.ts'
import { NondeterminismError } from '../../src/engine/replay/nondeterminism.ts'
import type { PastTurn } from '../../src/engine/replay/replay.ts'
import { type Arrival, type Copy, newCopy } from '../../src/engine/runtime/copy.ts'
import { takeTurn } from '../../src/engine/runtime/take-turn.ts'
import { valuesOf } from '../../src/engine/values.ts'
import { workflow } from '../../src/index.ts'
import { type Event, readEvents, writeEvents } from '../../src/store/history.ts'
import { silentLog } from '../../src/base/log.ts'
import {
  describeError,
  Dice,
  interpret,
  type Part,
  randomProgram,
  Refused,
} from '../support/programs.ts'

// HOLDFAST_PROPERTY_RUNS for more programs, HOLDFAST_PROPERTY_SEED for one that failed.
const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 2_000)
const SEED = process.env['HOLDFAST_PROPERTY_SEED']
const MOST_TURNS = 60
// Of a long history, so that it is cheaper to try more programs.
const MOST_PREFIXES = SEED === undefined ? 3 : MOST_TURNS

const values = valuesOf(undefined)

/** A turn as it was taken: what went in and what came out. */
interface Taken {
  readonly at: number
  readonly arrivals: readonly Arrival[]
  readonly events: readonly Event[]
}

/** A program while it runs. */
class Player {
  readonly seen: string[] = []
  readonly copy: Copy
  readonly #program: Part

  constructor(program: Part, past?: readonly PastTurn[]) {
    this.#program = program
    const definition = workflow('program', async () => {}) as unknown as WorkflowDefinition
    const run = new Execution('the program', values)
    this.copy = newCopy(1, 'p', definition, run, values.encode(null, 'input'))
    if (past === undefined) return
    this.copy.past = past
    this.copy.turn = past.length
    this.copy.at = past.at(-1)!.at
    this.copy.reopened = true
  }

  async turn(at: number, arrivals: readonly Arrival[]): Promise<readonly Event[]> {
    this.copy.arrivals = [...arrivals]
    const { events } = await takeTurn(this.copy, at, (copy) => () => {
      const host = { values, log: silentLog, activity: () => undefined }
      return interpret(this.#program, makeContext(copy, host), this.seen)
    })
    this.copy.turn++
    return events
  }

  /** What became of it, in words. */
  outcome(): string {
    const { outcome } = this.copy.run
    if (outcome === undefined) return 'running'
    return outcome.ok ? `returned ${JSON.stringify(outcome.value)}` : describeError(outcome.error)
  }
}

/** Runs a program from its start, with results in an order that the dice decide. */
async function live(program: Part, dice: Dice): Promise<{ turns: Taken[]; player: Player }> {
  const player = new Player(program)
  const turns: Taken[] = []
  for (let at = 1_000; turns.length < MOST_TURNS; at += dice.below(50)) {
    const arrivals = turns.length === 0 ? [] : someArrivals(player, dice)
    const events = await player.turn(at, arrivals)
    turns.push({ at, arrivals, events })
    if (player.outcome() !== 'running') break
  }
  return { turns, player }
}

function someArrivals({ copy }: Player, dice: Dice): Arrival[] {
  const open = dice.shuffle([...copy.run.open.values()])
  const some = open.slice(0, 1 + dice.below(Math.min(open.length, 4)))
  return some.flatMap(({ event }): Arrival[] => {
    const { command } = event
    if (event.type === 'timer') return [{ event: { type: 'fired', command } }]
    const name = event.name
    switch (dice.below(6)) {
      case 0: {
        const error = new Refused(`${command} refused`, { by: name })
        return [{ event: { type: 'failed', command, error: values.encodeError(error) } }]
      }
      case 1: {
        const fields = { activity: name, attempts: 3, originalName: 'TypeError' }
        const cause = new TypeError('bad')
        const error = values.encodeError(new ActivityError('it failed', fields, { cause }))
        const attempt = { type: 'attempt', command, attempt: 1, retryAt: 1, error } as const
        return [{ event: attempt }, { event: { type: 'failed', command, error } }]
      }
      default: {
        const value = values.encode({ of: command, n: dice.below(1_000) }, 'value')
        return [{ event: { type: 'completed', command, value } }]
      }
    }
  })
}

const pastOf = (turns: readonly Taken[]): PastTurn[] =>
  turns.map(({ at, events }) => ({ at, events: readEvents(writeEvents(events)) }))

/** Goes through a history from the turn `from` on with the same inputs; expects the same events. */
async function continueFrom(program: Part, turns: readonly Taken[], from: number): Promise<Player> {
  const player = new Player(program, pastOf(turns.slice(0, from)))
  if (from === turns.length) expect(await player.turn(turns.at(-1)!.at, [])).toEqual([])
  for (const { at, arrivals, events } of turns.slice(from)) {
    expect(writeEvents(await player.turn(at, arrivals))).toBe(writeEvents(events))
  }
  return player
}

/** Tries one program per seed; an error says which one it was. */
async function forSeeds(
  check: (program: Part, dice: Dice) => Promise<void>,
  runs = RUNS,
): Promise<void> {
  const seeds = SEED === undefined ? Array.from({ length: runs }, (_, i) => i) : [Number(SEED)]
  for (const seed of seeds) {
    const dice = new Dice(seed)
    const program = randomProgram(dice, 3 + dice.below(30))
    try {
      await check(program, dice)
    } catch (error) {
      const about = `HOLDFAST_PROPERTY_SEED=${seed}: ${JSON.stringify(program)}`
      throw new Error(`${about}\n${(error as Error).message}`, { cause: error })
    }
  }
}

test('a program decides the same from any prefix of its history', async () => {
  let [commands, ended] = [0, 0]

  await forSeeds(async (program, dice) => {
    const { turns, player } = await live(program, dice)
    commands += turns.flatMap(({ events }) => events).filter(isCommand).length
    if (player.outcome() !== 'running') ended++
    // One that has ended is never read again: its last turn is always taken anew.
    const last = player.outcome() === 'running' ? turns.length : turns.length - 1
    const prefixes = Array.from({ length: last }, (_, i) => i + 1)
    for (const from of dice.shuffle(prefixes).slice(0, MOST_PREFIXES)) {
      const again = await continueFrom(program, turns, from)

      expect(again.outcome()).toBe(player.outcome())
      expect(again.seen).toEqual(player.seen)
    }
  })

  if (SEED === undefined) {
    expect(ended / RUNS).toBeGreaterThan(0.8)
    expect(commands / RUNS).toBeGreaterThan(3)
  }
}, 120_000)

test('a program that a client started decides the same as one started here', async () => {
  await forSeeds(async (program, dice) => {
    const { turns, player } = await live(program, dice)
    const [first, ...rest] = turns
    const [started, ...commands] = first!.events
    const again = new Player(program, [{ at: first!.at, events: [started!] }])

    expect(writeEvents(await again.turn(first!.at, []))).toBe(writeEvents(commands))
    for (const { at, arrivals, events } of rest) {
      expect(writeEvents(await again.turn(at, arrivals))).toBe(writeEvents(events))
    }
    expect(again.outcome()).toBe(player.outcome())
    expect(again.seen).toEqual(player.seen)
  }, RUNS / 3)
}, 120_000)

test('after a replay everything that is open is taken up again', async () => {
  await forSeeds(async (program, dice) => {
    const { turns, player } = await live(program, dice)
    if (player.outcome() !== 'running') turns.pop()
    if (turns.length === 0) return
    const again = new Player(program, pastOf(turns))
    again.copy.arrivals = []
    const { given } = await takeTurn(again.copy, 0, (copy) => () => {
      const host = { values, log: silentLog, activity: () => undefined }
      return interpret(program, makeContext(copy, host), again.seen)
    })

    const open = new Set<number>()
    for (const event of turns.flatMap(({ events }) => events)) {
      if (isCommand(event)) open.add(event.command)
      if (event.type === 'completed' || event.type === 'failed' || event.type === 'fired') {
        open.delete(event.command)
      }
    }
    expect(given.map(({ event }) => event.command)).toEqual([...open])
  }, RUNS / 3)
}, 120_000)

test('a command that was recorded otherwise is found, at its place', async () => {
  let found = 0

  await forSeeds(async (program, dice) => {
    const { turns } = await live(program, dice)
    const commands = turns.flatMap(({ events }) => events).filter(isCommand)
    if (commands.length === 0) return
    const victim = dice.pick(commands)
    const past = pastOf(turns).map(({ at, events }) => ({
      at,
      events: events.map((event) =>
        isCommand(event) && event.command === victim.command ? changed(event, dice) : event,
      ),
    }))
    const error = await new Player(program, past).turn(0, []).catch((thrown: unknown) => thrown)

    expect(error).toBeInstanceOf(NondeterminismError)
    expect((error as NondeterminismError).position).toBe(victim.command)
    found++
  })

  if (SEED === undefined) expect(found / RUNS).toBeGreaterThan(0.7)
}, 120_000)

test('a command that is missing from history or too many in it is found', async () => {
  let found = 0

  await forSeeds(async (program, dice) => {
    const { turns } = await live(program, dice)
    const commands = turns.flatMap(({ events }) => events).filter(isCommand)
    if (commands.length === 0) return
    const victim = dice.pick(commands)
    const twice = dice.below(2) === 0
    const settled = turns.some(({ events }) =>
      events.some(
        (event) =>
          event.type !== victim.type && 'command' in event && event.command === victim.command,
      ),
    )
    // What nothing follows looks as if the code had only now come to it.
    if (!twice && !settled) return
    const past = pastOf(turns).map(({ at, events }) => ({
      at,
      events: events.flatMap((event) =>
        isCommand(event) && event.command === victim.command
          ? twice
            ? [event, event]
            : []
          : event,
      ),
    }))

    await expect(new Player(program, past).turn(0, [])).rejects.toThrow(NondeterminismError)
    found++
  }, RUNS / 3)

  if (SEED === undefined) expect(found).toBeGreaterThan(RUNS / 8)
}, 120_000)

type Command = Extract<Event, { type: 'activity' | 'step' | 'timer' }>

function isCommand(event: Event): event is Command {
  return event.type === 'activity' || event.type === 'step' || event.type === 'timer'
}

/** The same command with another kind, name or input. */
function changed(event: Command, dice: Dice): Command {
  const { command } = event
  switch (event.type) {
    case 'timer':
      return { type: 'step', command, name: 'read' }
    case 'step':
      return dice.pick<Command>([
        { type: 'timer', command, fireAt: 1 },
        { type: 'step', command, name: `${event.name}2` },
        { type: 'activity', command, name: event.name, input: 'null', where: 'local' },
      ])
    case 'activity':
      return dice.pick<Command>([
        { type: 'step', command, name: event.name },
        { ...event, name: `${event.name}2` },
        { ...event, input: `[${event.input}]` },
      ])
  }
}
