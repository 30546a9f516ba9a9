// Repeats a history: the code gives its commands again, and each is checked against what was
// recorded.
//
//   R1. A command is matched by position, then by kind, name and encoded input (a timer by position
//       and kind). A mismatch is a NondeterminismError, never a guess.
//   R2. A recorded command must have been given by then, and nothing may have been given that is
//       not recorded, until history ends.
//   R3. Commands beyond the end of history are new: they are returned, not lost.

import { NondeterminismError } from './nondeterminism.ts'
import type { Event } from '../../store/history.ts'
import {
  type CommandEvent,
  describeCommand,
  type Execution,
  type Given,
  type InputEvent,
} from './execution.ts'
import { drained } from './turn.ts'

/** A recorded turn. */
export interface PastTurn {
  readonly at: number
  readonly events: readonly Event[]
}

/** What the past says about a command that has no result yet. */
export interface OpenAttempt {
  /** Attempts that failed. */
  readonly attempts: number
  /** When the next one is due. */
  readonly retryAt: number
}

/** What replaying brought to light. */
export interface Replayed {
  /** Commands that the code gave beyond the end of history. */
  readonly fresh: readonly Given[]
  /** Failed attempts of commands that are still open. */
  readonly attempts: ReadonlyMap<number, OpenAttempt>
}

/**
 * Runs the code through its past. Must be called within the execution's turn.
 *
 * `begin` is called at the `started` event.
 */
export async function replay(
  execution: Execution,
  past: readonly PastTurn[],
  begin: (started: Extract<Event, { type: 'started' }>) => void,
): Promise<Replayed> {
  const attempts = new Map<number, OpenAttempt>()
  const given: Given[] = []
  let position = 0
  for (const { at, events } of past) {
    execution.at = at
    for (const event of events) {
      switch (event.type) {
        case 'started':
          begin(event)
          await drained()
          for (const command of execution.take()) given.push(command)
          break
        case 'activity':
        case 'step':
        case 'timer':
          match(event, given[position], execution)
          position++
          break
        case 'attempt':
          attempts.set(event.command, { attempts: event.attempt, retryAt: event.retryAt })
          break
        case 'completed':
        case 'failed':
        case 'fired':
          refuseExtra(given[position], event)
          refuseEnd(execution, event)
          execution.apply(event)
          attempts.delete(event.command)
          await drained()
          for (const command of execution.take()) given.push(command)
          break
        case 'ended':
          break
      }
      if (execution.broken !== undefined) throw execution.broken
    }
  }
  return { fresh: given.slice(position), attempts }
}

function match(recorded: CommandEvent, given: Given | undefined, execution: Execution): void {
  const same =
    given !== undefined &&
    recorded.type === given.event.type &&
    recorded.command === given.event.command &&
    (recorded.type === 'timer' || recorded.name === (given.event as { name?: string }).name) &&
    (recorded.type !== 'activity' || recorded.input === (given.event as { input?: string }).input)
  if (same) return
  const actual =
    given === undefined
      ? execution.outcome === undefined
        ? 'nothing'
        : 'the end of the workflow'
      : describeGiven(given)
  throw mismatch(recorded.command, describeEvent(recorded), actual, given)
}

function refuseExtra(given: Given | undefined, next: Event): void {
  if (given === undefined) return
  throw mismatch(given.event.command, `nothing before "${next.type}"`, describeGiven(given), given)
}

/** Nothing is recorded behind the end, so the code ends earlier than it did. */
function refuseEnd({ outcome }: Execution, next: InputEvent): void {
  if (outcome === undefined) return
  const expected = `waited for until "${next.type}"`
  throw mismatch(next.command, expected, 'the end of the workflow', undefined)
}

function mismatch(
  position: number,
  expected: string,
  actual: string,
  given: Given | undefined,
): NondeterminismError {
  const where = given?.stack === undefined ? '' : ` ${sourceLine(given.stack)}`
  return new NondeterminismError(
    `command ${position} was ${expected}, but the code now gave ${actual}${where}`,
    position,
    expected,
    actual,
  )
}

function describeEvent(event: CommandEvent): string {
  const input = event.type === 'activity' ? ` with input ${shorten(event.input)}` : ''
  return describeCommand(event) + input
}

function describeGiven(given: Given): string {
  return describeEvent(given.event)
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

// The first line of the stack that is not the engine's own.
function sourceLine(stack: string): string {
  const own = /[\\/](engine[\\/](replay|context|runtime))[\\/]/
  const line = stack
    .split('\n')
    .slice(1)
    .find((frame) => !own.test(frame))
  return line === undefined ? '' : line.trim()
}
