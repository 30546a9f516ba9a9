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
import type {
  CancelledEvent,
  CommandEvent,
  Event,
  InputEvent,
  NoteEvent,
} from '../../store/history.ts'
import { describeCommand, describeNote } from './describe-command.ts'
import type { Execution, IssuedCommand } from './execution.ts'
import { type Mismatch, NondeterminismError } from './nondeterminism.ts'
import { outlastsCode } from './outlasts-code.ts'
import { sourceLine } from '../../base/source-line.ts'
import { drained, type Pausing } from './current-turn.ts'

/** A recorded turn. */
export interface PastTurn {
  readonly at: number
  readonly events: readonly Event[]
}

/** Whether it has nothing but the start, so that everything the code does is new. */
export function isUntouched(past: readonly PastTurn[]): boolean {
  return past.length === 1 && past[0]!.events.length === 1
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
  execution.recordedRefusals = recordedRefusals(past)
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
          if (execution.open.has(event.command)) throw stillOpen(event)
          attempts.delete(event.command)
          remove(notes, (note) => note.type === 'dropped' && note.command === event.command)
          break
        case 'set':
        case 'unset':
        case 'cleared':
          matchState(event, notes, execution)
          break
        case 'progress':
        case 'replied':
        case 'patched':
        case 'refused':
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

function recordedRefusals(past: readonly PastTurn[]): ReadonlyMap<number, string> {
  const refusals = new Map<number, string>()
  for (const { events } of past) {
    for (const event of events) {
      if (event.type === 'refused') refusals.set(event.value, JSON.parse(event.error) as string)
    }
  }
  return refusals
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

function matchState(recorded: NoteEvent, notes: NoteEvent[], run: Execution): void {
  const given = remove(notes, isState)
  if (given !== undefined && isSameState(recorded, given, run)) return
  const isLater = notes.some((note) => isState(note) && isSameState(recorded, note, run))
  const expected = writeState(recorded)
  const did: Did =
    given !== undefined
      ? stateChange(given, isLater, run)
      : run.outcome?.kind === 'threw'
        ? failure(run.outcome.error)
        : nothingElse(run, 'nothing of the kind', 'does not', {})
  const message = `the code once called ${expected}, but now ${did.says}`
  throw new NondeterminismError(message, 0, expected, did.actual, optionsOf(did, recorded))
}

function stateChange(given: NoteEvent, isLater: boolean, run: Execution): Did {
  const actual = writeState(given)
  const line = sourceLine(run.stackOf(given) ?? '')
  return { actual, says: `calls ${actual}${after(line)}`, mismatch: { given, isLater, line } }
}

function isSameState(recorded: NoteEvent, given: NoteEvent, run: Execution): boolean {
  if (recorded.type !== 'set' || given.type !== 'set') {
    return describeNote(recorded) === describeNote(given)
  }
  return recorded.key === given.key && run.isSameValue(recorded.value, given.value)
}

function writeState(note: NoteEvent): string {
  const value = note.type === 'set' ? ` to ${shorten(note.value)}` : ''
  return describeNote(note) + value
}

function stillOpen(recorded: Dropped): NondeterminismError {
  const { command } = recorded
  return new NondeterminismError(
    `command ${command} was cancelled, but the code now still waits for it`,
    command,
    `cancel of command ${command}`,
    'nothing',
    { mismatch: { recorded, does: 'waits', line: '' } },
  )
}

function match(
  recorded: CommandEvent,
  given: IssuedCommand | undefined,
  execution: Execution,
): void {
  if (given !== undefined && isSame(recorded, given.event, execution)) {
    return keepChosen(recorded, given)
  }
  const did = given === undefined ? insteadOf(execution) : request(given)
  throw mismatch(recorded.command, describeEvent(recorded), did, recorded)
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
function isSame(recorded: CommandEvent, given: CommandEvent, run: Execution): boolean {
  if (recorded.command !== given.command) return false
  switch (recorded.type) {
    case 'timer':
      return given.type === 'timer'
    case 'activity':
      return (
        given.type === 'activity' &&
        recorded.name === given.name &&
        run.isSameValue(recorded.input, given.input)
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
        run.isSameValue(recorded.input, given.input) &&
        (!run.comparesValues ||
          recorded.id === given.id ||
          (hasOwnId(recorded) && !run.recordedIds.has(recorded.command)))
      )
    case 'send':
      return (
        given.type === 'send' &&
        (!run.comparesValues || recorded.id === given.id) &&
        recorded.name === given.name &&
        run.isSameValue(recorded.value, given.value)
      )
    case 'read':
      return (
        given.type === 'read' &&
        (!run.comparesValues || recorded.id === given.id) &&
        recorded.key === given.key
      )
  }
}

/** What may follow the commands of a turn. */
type Next = InputEvent | CancelledEvent | Dropped
type Dropped = Extract<NoteEvent, { type: 'dropped' }>

function refuseExtra(given: IssuedCommand | undefined, next: Next): void {
  if (given === undefined) return
  const did = request(given)
  const { command } = given.event
  throw new NondeterminismError(
    `history has no command ${command} before ${nameOfInput(next)}, but the code now ${did.says}`,
    command,
    `nothing before "${next.type}"`,
    did.actual,
    optionsOf(did, undefined),
  )
}

/** What arrived, or was decided, at this place of history. */
function nameOfInput(event: Next): string {
  switch (event.type) {
    case 'completed':
      return `the result of command ${event.command}`
    case 'failed':
      return `the failure of command ${event.command}`
    case 'fired':
      return `the timer of command ${event.command}`
    case 'received':
      return `the message of command ${event.command}`
    case 'dropped':
      return `the cancellation of command ${event.command}`
    case 'cancelled':
      return 'the cancellation of the instance'
  }
}

/** Only what outlasts the code can settle after its end; otherwise the code now ends too early. */
function refuseEnd(execution: Execution, next: InputEvent): void {
  if (execution.outcome === undefined) return
  const given = execution.open.get(next.command)
  if (given !== undefined && outlastsCode(given.event)) return
  throw mismatch(next.command, `still awaited when "${next.type}" arrived`, insteadOf(execution))
}

/** What the code does where history has something else. */
interface Did {
  readonly actual: string
  /** What comes after "the code now". */
  readonly says: string
  readonly cause?: unknown
  /** All but what is recorded. */
  readonly mismatch: Mismatch
}

function mismatch(
  position: number,
  expected: string,
  did: Did,
  recorded?: CommandEvent,
): NondeterminismError {
  const message = `command ${position} was ${expected}, but the code now ${did.says}`
  return new NondeterminismError(message, position, expected, did.actual, optionsOf(did, recorded))
}

function optionsOf(
  did: Did,
  recorded: CommandEvent | NoteEvent | undefined,
): { readonly mismatch: Mismatch; readonly cause?: unknown } {
  const details = recorded === undefined ? did.mismatch : { ...did.mismatch, recorded }
  return { mismatch: details, ...('cause' in did && { cause: did.cause }) }
}

function request({ event, stack }: IssuedCommand): Did {
  const actual = describeEvent(event)
  const line = sourceLine(stack ?? '')
  return { actual, says: `asks for ${actual}${after(line)}`, mismatch: { given: event, line } }
}

/** What the code does instead of issuing a command. */
function insteadOf(run: Execution): Did {
  const { outcome, open } = run
  if (outcome === undefined) {
    const says =
      open.size > 0
        ? 'issues no command'
        : 'issues no command, and waits for something that is not durable (a timer, I/O, or a ' +
          'promise of its own that nothing resolves)'
    return nothingElse(run, 'nothing', says, { does: 'waits' })
  }
  if (outcome.kind === 'threw') return failure(outcome.error)
  const isReturn = outcome.kind === 'returned'
  const says = isReturn ? 'returns' : 'calls ctx.continueAsNew()'
  const does = isReturn ? 'returns' : 'continues as new'
  return nothingElse(run, 'the end of the workflow', says, { does })
}

/** Code that has no line of its own here: the report names its last call. */
function nothingElse(
  { lastCall }: Execution,
  actual: string,
  says: string,
  details: Omit<Mismatch, 'line'>,
): Did {
  const { text = '', line = '' } = lastCall ?? {}
  return { actual, says: says + text, mismatch: { ...details, line } }
}

/** Code that now throws, rather than issuing another command. */
function failure(thrown: unknown): Did {
  const { name, message } = errorToData(thrown)
  const actual = `${name}: ${message}`
  const line = sourceLine((thrown instanceof Error && thrown.stack) || '')
  return {
    actual,
    says: `threw ${actual}${after(line)}`,
    cause: thrown,
    mismatch: { does: 'throws', line },
  }
}

function after(line: string): string {
  return line === '' ? '' : ` ${line}`
}

function describeEvent(event: CommandEvent): string {
  const input = 'input' in event ? ` with input ${shorten(event.input)}` : ''
  return describeCommand(event) + input
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
