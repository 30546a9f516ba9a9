// Replays a history: the code issues its commands again, and each is compared with the recorded one.
//
//   - A command is matched by position, then by kind, name and encoded input (a timer by position
//     and kind). A mismatch is a NondeterminismError, never a guess.
//   - The code must have issued each recorded command by its place in history, and no others until
//     history ends.
//   - Commands and notes beyond the end of history are new, and are returned.
//   - A change of state must match the next one of the code; other notes only by kind. A dropped
//     command must be closed by its place in history.

import { errorToData } from '../../base/codec/error-data.ts'
import type { CommandEvent, Event, InputEvent, NoteEvent } from '../../store/history.ts'
import { describeCommand, describeNote } from './describe-command.ts'
import type { Execution, IssuedCommand } from './execution.ts'
import { NondeterminismError } from './nondeterminism.ts'
import { outlastsCode } from './outlasts-code.ts'
import { sourceLine } from './source-line.ts'
import { drained, type Pausing } from './turn.ts'

/** A recorded turn. */
export interface PastTurn {
  readonly at: number
  readonly events: readonly Event[]
}

/** What history records about a command that has no result yet. */
export interface OpenAttempt {
  /** Attempts that failed. */
  readonly attempts: number
  /** When the next one is due. */
  readonly retryAt: number
}

/** The result of a replay. */
export interface Replayed {
  /** What the code did beyond the end of history. */
  readonly fresh: readonly (CommandEvent | NoteEvent)[]
  /** Failed attempts of commands that are still open. */
  readonly attempts: ReadonlyMap<number, OpenAttempt>
}

/**
 * Replays history with the code. Must be called within the execution's turn, whose time is `now`.
 *
 * `begin` is called at the `started` event.
 */
export function* replay(
  execution: Execution,
  past: readonly PastTurn[],
  now: number,
  begin: (started: Extract<Event, { type: 'started' }>) => void,
): Pausing<Replayed> {
  const attempts = new Map<number, OpenAttempt>()
  const given: IssuedCommand[] = []
  const notes: NoteEvent[] = []
  const all: (CommandEvent | NoteEvent)[] = []
  let position = 0
  execution.recordedChanges = recordedChanges(past)
  execution.recordedIds = recordedIds(past)
  const gather = (): void => {
    const taken = execution.take()
    for (const command of taken.given) given.push(command)
    for (const event of taken.events) {
      all.push(event)
      if (isNote(event)) notes.push(event)
    }
  }
  for (const { at, events } of past) {
    execution.at = at
    execution.lastBegun = position
    for (const event of events) {
      switch (event.type) {
        case 'started':
          // When a client only stored the start, the code begins in the next turn.
          if (events.length === 1) execution.at = past[1]?.at ?? now
          begin(event)
          yield drained
          gather()
          break
        case 'activity':
        case 'step':
        case 'timer':
        case 'child':
        case 'start':
        case 'receive':
        case 'send':
        case 'read':
          match(event, given[position], execution)
          position++
          break
        case 'attempt':
          attempts.set(event.command, { attempts: event.attempt, retryAt: event.retryAt })
          break
        case 'completed':
        case 'failed':
        case 'fired':
        case 'received':
          refuseExtra(given[position], event)
          refuseEnd(execution, event)
          execution.apply(event)
          attempts.delete(event.command)
          yield drained
          gather()
          break
        case 'cancelled':
          refuseExtra(given[position], event)
          execution.cancel(event)
          yield drained
          gather()
          break
        case 'dropped':
          if (given[position]?.event.command === event.command) refuseExtra(given[position], event)
          execution.leave(event.command)
          if (execution.open.has(event.command)) throw stillOpen(event.command)
          attempts.delete(event.command)
          remove(notes, (note) => note.type === 'dropped' && note.command === event.command)
          break
        case 'set':
        case 'unset':
        case 'cleared':
          matchState(event, remove(notes, isState), execution)
          break
        case 'progress':
        case 'replied':
        case 'patched':
          remove(notes, ({ type }) => type === event.type)
          break
        case 'forked':
          // The fork has not yet done what the next input leads to.
          execution.replaying = false
          break
        case 'ended':
          break
      }
      if (execution.broken !== undefined) throw execution.broken
    }
  }
  execution.lastBegun = position
  const unmatched = new Set<object>([...notes, ...given.slice(position).map(({ event }) => event)])
  const fresh = unmatched.size === 0 ? [] : all.filter((event) => unmatched.has(event))
  return { fresh, attempts }
}

function recordedChanges(past: readonly PastTurn[]): ReadonlySet<string> {
  const changes = new Set<string>()
  for (const { events } of past) {
    for (const event of events) if (event.type === 'patched') changes.add(event.change)
  }
  return changes
}

function recordedIds(past: readonly PastTurn[]): ReadonlyMap<number, string> {
  const started = new Map<number, string>()
  const answered = new Map<number, string>()
  for (const { events } of past) {
    for (const event of events) {
      if (event.type === 'child' || event.type === 'start') started.set(event.command, event.id)
      else if (event.type === 'completed' || event.type === 'failed') {
        const id = started.get(event.command)
        if (id !== undefined) answered.set(event.command, id)
      }
    }
  }
  return answered
}

function isNote(event: CommandEvent | NoteEvent): event is NoteEvent {
  return event.type === 'dropped' || !('command' in event)
}

function isState(note: NoteEvent): boolean {
  return note.type === 'set' || note.type === 'unset' || note.type === 'cleared'
}

/** Removes and returns the first such note that no event has matched yet. */
function remove(notes: NoteEvent[], which: (note: NoteEvent) => boolean): NoteEvent | undefined {
  const at = notes.findIndex(which)
  return at < 0 ? undefined : notes.splice(at, 1)[0]
}

function matchState(recorded: NoteEvent, given: NoteEvent | undefined, run: Execution): void {
  const expected = writeState(recorded)
  const actual = given && writeState(given)
  if (expected === actual) return
  const did =
    actual !== undefined
      ? { actual, says: `calls ${actual}`, options: {} }
      : run.outcome?.kind === 'threw'
        ? failure(run.outcome.error)
        : { actual: 'nothing of the kind', says: 'does not', options: {} }
  const message = `the code once called ${expected}, but now ${did.says}`
  throw new NondeterminismError(message, 0, expected, did.actual, did.options)
}

function writeState(note: NoteEvent): string {
  const value = note.type === 'set' ? ` to ${shorten(note.value)}` : ''
  return describeNote(note) + value
}

function stillOpen(command: number): NondeterminismError {
  return new NondeterminismError(
    `command ${command} was cancelled, but the code now still waits for it`,
    command,
    `cancel of command ${command}`,
    'nothing',
  )
}

function match(
  recorded: CommandEvent,
  given: IssuedCommand | undefined,
  execution: Execution,
): void {
  const { recordedIds: ids } = execution
  if (given !== undefined && isSame(recorded, given.event, ids)) return keepChosen(recorded, given)
  const did = given === undefined ? insteadOf(execution) : request(given)
  throw mismatch(recorded.command, describeEvent(recorded), did)
}

/** Keeps the recorded time, route and version, even where the code would choose another by now. */
function keepChosen(recorded: CommandEvent, { event }: IssuedCommand): void {
  if (recorded.type === 'timer') Object.assign(event, { fireAt: recorded.fireAt })
  else if (recorded.type === 'receive') Object.assign(event, { until: recorded.until })
  else if (recorded.type === 'activity') {
    // The route may depend on what is registered in the process that replays.
    const { where, tag, session } = recorded
    Object.assign(event, { where, tag, session })
  } else if (recorded.type === 'child' || recorded.type === 'start') {
    Object.assign(event, { version: recorded.version })
  }
}

/** Whether the engine chose the id of the instance. */
function hasOwnId({ options }: { readonly options: string }): boolean {
  return (JSON.parse(options) as { ownId?: boolean }).ownId === true
}

/**
 * Whether the code issued the recorded command. An id that the engine chose is compared only if the
 * command has a result: a fork starts the others anew, with new ids.
 */
function isSame(
  recorded: CommandEvent,
  given: CommandEvent,
  answered: ReadonlyMap<number, string>,
): boolean {
  if (recorded.command !== given.command) return false
  switch (recorded.type) {
    case 'timer':
      return given.type === 'timer'
    case 'activity':
      return (
        given.type === 'activity' && recorded.name === given.name && recorded.input === given.input
      )
    case 'step':
      return given.type === 'step' && recorded.name === given.name
    case 'receive':
      return given.type === 'receive' && recorded.name === given.name
    case 'child':
    case 'start':
      return (
        given.type === recorded.type &&
        recorded.workflow === given.workflow &&
        recorded.input === given.input &&
        (recorded.id === given.id || (hasOwnId(recorded) && !answered.has(recorded.command)))
      )
    case 'send':
      return (
        given.type === 'send' &&
        recorded.id === given.id &&
        recorded.name === given.name &&
        recorded.value === given.value
      )
    case 'read':
      return given.type === 'read' && recorded.id === given.id && recorded.key === given.key
  }
}

function refuseExtra(given: IssuedCommand | undefined, next: Event): void {
  if (given === undefined) return
  throw mismatch(given.event.command, `nothing before "${next.type}"`, request(given))
}

/** Only what outlasts the code can settle after its end; otherwise the code now ends too early. */
function refuseEnd(execution: Execution, next: InputEvent): void {
  if (execution.outcome === undefined) return
  const given = execution.open.get(next.command)
  if (given !== undefined && outlastsCode(given.event)) return
  throw mismatch(next.command, `waited for until "${next.type}"`, insteadOf(execution))
}

/** What the code does where history has something else. */
interface Did {
  readonly actual: string
  /** What comes after "the code now". */
  readonly says: string
  readonly options: ErrorOptions
}

function mismatch(position: number, expected: string, did: Did): NondeterminismError {
  const message = `command ${position} was ${expected}, but the code now ${did.says}`
  return new NondeterminismError(message, position, expected, did.actual, did.options)
}

function request(given: IssuedCommand): Did {
  const actual = describeEvent(given.event)
  return { actual, says: `asks for ${actual}${lineOf(given.stack)}`, options: {} }
}

/** What the code does instead of issuing a command. */
function insteadOf({ outcome, open }: Execution): Did {
  if (outcome === undefined) {
    const says =
      open.size > 0
        ? 'asks for nothing'
        : 'asks for nothing, and waits for something that is not durable (a timer, I/O, or a ' +
          'promise of its own that nothing resolves)'
    return { actual: 'nothing', says, options: {} }
  }
  if (outcome.kind === 'threw') return failure(outcome.error)
  const says = outcome.kind === 'returned' ? 'returns' : 'calls ctx.continueAsNew()'
  return { actual: 'the end of the workflow', says, options: {} }
}

/** Code that now throws, rather than issuing another command. */
function failure(thrown: unknown): Did {
  const { name, message } = errorToData(thrown)
  const actual = `${name}: ${message}`
  const stack = thrown instanceof Error ? thrown.stack : undefined
  return { actual, says: `threw ${actual}${lineOf(stack)}`, options: { cause: thrown } }
}

function lineOf(stack: string | undefined): string {
  const line = sourceLine(stack ?? '')
  return line === '' ? '' : ` ${line}`
}

function describeEvent(event: CommandEvent): string {
  const input = 'input' in event ? ` with input ${shorten(event.input)}` : ''
  return describeCommand(event) + input
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
