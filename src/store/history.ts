// The events of an execution, in order, and how they are written.
//
// A turn is one string: events joined by RS, the fields of each joined by US. Names and encoded
// values contain no raw control character (the codec escapes them, names are checked), so nothing
// needs to be escaped again, and a value is copied, not parsed, on its way in and out.
//
//   E1. Event 1 of an execution is `started`.
//   E2. Commands (`activity` … `read`) are numbered from 1 in the order in which the code issued
//       them. History has them in that order, after the input that made the code issue them.
//   E3. An input (`completed` … `received`) names its command; a command gets at most one.
//       `cancelled` is for the whole execution, and comes at most once.
//   E4. Notes (`dropped` … `patched`) are what the code did besides its commands, in the order of
//       the code.

import { isWrapped, whyUnreadable } from '../base/codec/transform.ts'

/** One event. Encoded values stay strings here. */
export type Event = CommandEvent | InputEvent | CancelledEvent | NoteEvent | LifeEvent

/** Something the code asked for. */
export type CommandEvent =
  /**
   * `where`: `local` runs at the owner, `task` at any runtime that claims it. A `local` activity
   * may have become a task since: then the store has a task for it.
   */
  | {
      readonly type: 'activity'
      readonly command: number
      readonly name: string
      readonly input: string
      readonly where: 'local' | 'task'
      /** Empty for none; so is `session`. */
      readonly tag: string
      readonly session: string
    }
  | { readonly type: 'step'; readonly command: number; readonly name: string }
  | { readonly type: 'timer'; readonly command: number; readonly fireAt: number }
  /** Another instance is started: a `child` waits for its result, a `start` only for the start. */
  | {
      readonly type: 'child' | 'start'
      readonly command: number
      readonly workflow: string
      readonly version: string
      readonly id: string
      readonly input: string
      /** JSON: the other options of the start. */
      readonly options: string
    }
  /** `until`: when it gives up; 0 for never. */
  | {
      readonly type: 'receive'
      readonly command: number
      readonly name: string
      readonly until: number
    }
  | {
      readonly type: 'send'
      readonly command: number
      readonly id: string
      readonly name: string
      readonly capacity: number
      readonly value: string
    }
  /** State of another instance is read. */
  | {
      readonly type: 'read'
      readonly command: number
      readonly id: string
      readonly key: string
    }

/** Something that settles a command. */
export type InputEvent =
  | { readonly type: 'completed'; readonly command: number; readonly value: string }
  | { readonly type: 'failed'; readonly command: number; readonly error: string }
  /** A timer's time has come, or a `receive` waited long enough. */
  | { readonly type: 'fired'; readonly command: number }
  | {
      readonly type: 'received'
      readonly command: number
      readonly value: string
      /** Where the answer to a request goes; otherwise empty. */
      readonly replyTo: string
    }

/** A request to cancel; `reason` is plain JSON. */
export interface CancelledEvent {
  readonly type: 'cancelled'
  readonly reason: string
}

/** Something the code did that gets no result. */
export type NoteEvent =
  /** The code no longer waits for a command. */
  | { readonly type: 'dropped'; readonly command: number }
  | { readonly type: 'set'; readonly key: string; readonly value: string }
  | { readonly type: 'unset'; readonly key: string }
  | { readonly type: 'cleared' }
  | { readonly type: 'progress'; readonly value: string }
  | { readonly type: 'replied'; readonly to: string; readonly ok: boolean; readonly value: string }
  | { readonly type: 'patched'; readonly change: string }
  /**
   * A value that the code passed out was over a limit, and the code got an error: `value` is the number
   * of the value, from 1, of all that the execution passed out. `error` is its message, as JSON.
   */
  | { readonly type: 'refused'; readonly value: number; readonly error: string }

/** The beginning and end of an execution, and what its owner records in between. */
export type LifeEvent =
  | {
      readonly type: 'started'
      readonly workflow: string
      readonly version: string
      readonly input: string
      /** The seed of the execution's random numbers and ids. */
      readonly seed: string
      /** The parent's id; otherwise empty. */
      readonly parentId: string
      /** JSON: the state that the execution begins with, encoded value by key; empty for none. */
      readonly state: string
      /** The trace that it belongs to, as a `traceparent`, with a `tracestate`; left out for none. */
      readonly trace?: string
    }
  /** An attempt failed and there will be another one, from `retryAt` on. */
  | {
      readonly type: 'attempt'
      readonly command: number
      readonly attempt: number
      readonly retryAt: number
      readonly error: string
    }
  /** Earlier history was cut off before the input that follows: the code continues from there. */
  | { readonly type: 'forked' }
  /** Result and error are in the row of the instance, not here. */
  | { readonly type: 'ended'; readonly status: EndOfExecution }

/** How an execution ended. */
export type EndOfExecution = 'completed' | 'failed' | 'cancelled' | 'terminated' | 'continued'

const EVENT = '\x1e'
const FIELD = '\x1f'

/** Writes events as one string. */
export function writeEvents(events: readonly Event[]): string {
  let text = ''
  for (let i = 0; i < events.length; i++) {
    if (i > 0) text += EVENT
    text += writeEvent(events[i]!)
  }
  return text
}

function writeEvent(event: Event): string {
  switch (event.type) {
    case 'started':
      return `started${FIELD}${event.workflow}${FIELD}${event.version}${FIELD}${event.input}${FIELD}${event.seed}${FIELD}${event.parentId}${FIELD}${event.state}${writeTrace(event)}`
    case 'activity':
      return `activity${FIELD}${event.command}${FIELD}${event.name}${FIELD}${event.where}${FIELD}${event.input}${writeRoute(event)}`
    case 'step':
      return `step${FIELD}${event.command}${FIELD}${event.name}`
    case 'timer':
      return `timer${FIELD}${event.command}${FIELD}${event.fireAt}`
    case 'child':
    case 'start':
      return `${event.type}${FIELD}${event.command}${FIELD}${event.workflow}${FIELD}${event.version}${FIELD}${event.id}${FIELD}${event.input}${FIELD}${event.options}`
    case 'receive':
      return `receive${FIELD}${event.command}${FIELD}${event.name}${FIELD}${event.until}`
    case 'send':
      return `send${FIELD}${event.command}${FIELD}${event.id}${FIELD}${event.name}${FIELD}${event.capacity}${FIELD}${event.value}`
    case 'read':
      return `read${FIELD}${event.command}${FIELD}${event.id}${FIELD}${event.key}`
    case 'attempt':
      return `attempt${FIELD}${event.command}${FIELD}${event.attempt}${FIELD}${event.retryAt}${FIELD}${event.error}`
    case 'completed':
      return `completed${FIELD}${event.command}${FIELD}${event.value}`
    case 'failed':
      return `failed${FIELD}${event.command}${FIELD}${event.error}`
    case 'fired':
      return `fired${FIELD}${event.command}`
    case 'received':
      return `received${FIELD}${event.command}${FIELD}${event.replyTo}${FIELD}${event.value}`
    case 'cancelled':
      return `cancelled${FIELD}${event.reason}`
    case 'dropped':
      return `dropped${FIELD}${event.command}`
    case 'set':
      return `set${FIELD}${event.key}${FIELD}${event.value}`
    case 'unset':
      return `unset${FIELD}${event.key}`
    case 'cleared':
      return 'cleared'
    case 'progress':
      return `progress${FIELD}${event.value}`
    case 'replied':
      return `replied${FIELD}${event.to}${FIELD}${event.ok ? 1 : 0}${FIELD}${event.value}`
    case 'patched':
      return `patched${FIELD}${event.change}`
    case 'refused':
      return `refused${FIELD}${event.value}${FIELD}${event.error}`
    case 'forked':
      return 'forked'
    case 'ended':
      return `ended${FIELD}${event.status}`
  }
}

// Only what was started with tracing has one. Earlier builds ignore the field.
function writeTrace({ trace = '' }: { readonly trace?: string }): string {
  return trace === '' ? '' : `${FIELD}${trace}`
}

// Most activities have neither tag nor session, so the two fields are left out.
function writeRoute({ tag, session }: { readonly tag: string; readonly session: string }): string {
  return tag === '' && session === '' ? '' : `${FIELD}${tag}${FIELD}${session}`
}

/** Reads what `writeEvents` wrote; throws if the text is anything else. */
export function readEvents(text: string): Event[] {
  return text.split(EVENT).map(readEvent)
}

function readEvent(text: string): Event {
  const fields = text.split(FIELD)
  const type = fields[0]!
  switch (type) {
    case 'started':
      return {
        type,
        workflow: field(fields, 1),
        version: field(fields, 2),
        input: field(fields, 3),
        seed: field(fields, 4),
        parentId: field(fields, 5),
        state: field(fields, 6),
        ...(fields.length > 7 && { trace: field(fields, 7) }),
      }
    case 'activity': {
      const where = field(fields, 3)
      if (where !== 'local' && where !== 'task')
        throw new Error(`history: an activity runs at unknown place "${where}"`)
      const [tag, session] = fields.length > 5 ? [field(fields, 5), field(fields, 6)] : ['', '']
      return {
        type,
        command: toInt(fields, 1),
        name: field(fields, 2),
        where,
        input: field(fields, 4),
        tag,
        session,
      }
    }
    case 'step':
      return { type, command: toInt(fields, 1), name: field(fields, 2) }
    case 'timer':
      return { type, command: toInt(fields, 1), fireAt: toInt(fields, 2) }
    case 'child':
    case 'start':
      return {
        type,
        command: toInt(fields, 1),
        workflow: field(fields, 2),
        version: field(fields, 3),
        id: field(fields, 4),
        input: field(fields, 5),
        options: field(fields, 6),
      }
    case 'receive':
      return { type, command: toInt(fields, 1), name: field(fields, 2), until: toInt(fields, 3) }
    case 'send':
      return {
        type,
        command: toInt(fields, 1),
        id: field(fields, 2),
        name: field(fields, 3),
        capacity: toInt(fields, 4),
        value: field(fields, 5),
      }
    case 'read':
      return { type, command: toInt(fields, 1), id: field(fields, 2), key: field(fields, 3) }
    case 'attempt':
      return {
        type,
        command: toInt(fields, 1),
        attempt: toInt(fields, 2),
        retryAt: toInt(fields, 3),
        error: field(fields, 4),
      }
    case 'completed':
      return { type, command: toInt(fields, 1), value: field(fields, 2) }
    case 'failed':
      return { type, command: toInt(fields, 1), error: field(fields, 2) }
    case 'fired':
      return { type, command: toInt(fields, 1) }
    case 'received':
      return { type, command: toInt(fields, 1), replyTo: field(fields, 2), value: field(fields, 3) }
    case 'cancelled':
      return { type, reason: field(fields, 1) }
    case 'dropped':
      return { type, command: toInt(fields, 1) }
    case 'set':
      return { type, key: field(fields, 1), value: field(fields, 2) }
    case 'unset':
      return { type, key: field(fields, 1) }
    case 'cleared':
      return { type }
    case 'progress':
      return { type, value: field(fields, 1) }
    case 'replied':
      return { type, to: field(fields, 1), ok: toInt(fields, 2) === 1, value: field(fields, 3) }
    case 'patched':
      return { type, change: field(fields, 1) }
    case 'refused':
      return { type, value: toInt(fields, 1), error: field(fields, 2) }
    case 'forked':
      return { type }
    case 'ended': {
      const status = field(fields, 1)
      if (isEnd(status)) return { type, status }
      throw new Error(`history: unknown ending "${status}"`)
    }
    default:
      if (isWrapped(type)) throw new Error(whyUnreadable(type))
      throw new Error(`history: unknown event "${type}"; was it written by a newer version?`)
  }
}

function field(fields: readonly string[], i: number): string {
  const value = fields[i]
  if (value === undefined) throw new Error(`history: event "${fields[0]}" lacks field ${i}`)
  return value
}

function toInt(fields: readonly string[], i: number): number {
  const text = field(fields, i)
  const value = Number(text)
  // Number('') is 0, and Number() accepts other texts that are not plain integers.
  if (!Number.isSafeInteger(value) || String(value) !== text) {
    throw new Error(`history: field ${i} of event "${fields[0]}" is not a whole number: ${text}`)
  }
  return value
}

const ENDS: readonly string[] = ['completed', 'failed', 'cancelled', 'terminated', 'continued']

function isEnd(status: string): status is EndOfExecution {
  return ENDS.includes(status)
}
