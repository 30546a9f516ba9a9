// Converts stored events to those of `history()` and exports, with decoded values and dates, and back.
// The table defines the kind of each field of each event.

import { describe } from '../../base/describe.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, readEvents, writeEvents } from '../../store/history.ts'
import { type KeptValue, readKeptState, writeKeptState } from '../core/kept-state.ts'
import { decodeReply, encodeReply } from '../core/replies.ts'
import { isPlainText } from '../../base/plain-text.ts'
import type { Values } from '../core/values.ts'
import type { HistoryEvent } from '../define/instance.ts'

// The trace is no part of what an execution did: an import is another instance, with a trace of its own.
type Fields<T extends Event['type']> = Exclude<keyof Extract<Event, { type: T }>, 'type' | 'trace'>

const COMMAND = { command: 'integer' } as const
const CHILD = {
  ...COMMAND,
  workflow: 'text',
  version: 'text',
  id: 'text',
  input: 'value',
  options: 'json',
} as const

const FIELDS = {
  started: {
    workflow: 'text',
    version: 'text',
    input: 'value',
    seed: 'text',
    parentId: 'text',
    state: 'state',
  },
  activity: {
    ...COMMAND,
    name: 'text',
    input: 'value',
    where: 'text',
    tag: 'text',
    session: 'text',
  },
  step: { ...COMMAND, name: 'text' },
  timer: { ...COMMAND, fireAt: 'time' },
  child: CHILD,
  start: CHILD,
  receive: { ...COMMAND, name: 'text', until: 'time' },
  send: { ...COMMAND, id: 'text', name: 'text', capacity: 'integer', value: 'value' },
  read: { ...COMMAND, id: 'text', key: 'text' },
  completed: { ...COMMAND, value: 'value' },
  failed: { ...COMMAND, error: 'error' },
  fired: COMMAND,
  received: { ...COMMAND, value: 'value', replyTo: 'text' },
  attempt: { ...COMMAND, attempt: 'integer', retryAt: 'time', error: 'error' },
  cancelled: { reason: 'json' },
  dropped: COMMAND,
  set: { key: 'text', value: 'value' },
  unset: { key: 'text' },
  cleared: {},
  progress: { value: 'value' },
  replied: { to: 'text', ok: 'flag', value: 'reply' },
  patched: { change: 'text' },
  refused: { value: 'integer', error: 'json' },
  forked: {},
  ended: { status: 'text' },
} as const satisfies { [T in Event['type']]: Record<Fields<T>, Kind> }

/** `reply`: a value or an error, depending on the field `ok`. `state`: values by key. */
type Kind = 'text' | 'integer' | 'flag' | 'time' | 'json' | 'value' | 'error' | 'reply' | 'state'

/** Replaces each value and error of an event. */
export type Redact = (value: unknown) => unknown

/** Yields the events of turns in order, with their numbers. */
export function* historyEvents(
  turns: readonly TurnRow[],
  values: Values,
  redact?: (value: unknown, at: { readonly seq: number; readonly type: string }) => unknown,
): Generator<HistoryEvent> {
  for (const { at, first, events } of turns) {
    for (const [i, event] of readEvents(events).entries()) {
      const { type } = event
      const seq = first + i
      const change: Redact = redact === undefined ? keep : (value) => redact(value, { seq, type })
      yield { seq, type, at: new Date(at), data: dataOf(event, values, change) }
    }
  }
}

function keep(value: unknown): unknown {
  return value
}

/** The decoded fields of an event. */
export function dataOf(event: Event, values: Values, redact: Redact): Record<string, unknown> {
  const raw = event as unknown as Record<string, unknown>
  const read = (name: string, kind: Kind): unknown => {
    const given = raw[name]
    switch (kind) {
      case 'text':
      case 'integer':
      case 'flag':
        return given
      case 'time':
        return given === 0 ? undefined : new Date(given as number)
      case 'json':
        return given === '' ? undefined : JSON.parse(given as string)
      case 'value':
        return redact(values.value(given as string))
      case 'error':
        return redact(values.error(given as string))
      case 'reply':
        return redact(replyOf(given as string, values))
      case 'state':
        return stateOf(given as string, values, redact)
    }
  }
  const fields = Object.entries<Kind>(FIELDS[event.type])
  return Object.fromEntries(fields.map(([name, kind]) => [name, read(name, kind)]))
}

/** A reply, or the error that rejected a request. */
function replyOf(payload: string, values: Values): unknown {
  try {
    return decodeReply(payload, values)
  } catch (error) {
    return error
  }
}

/** The state that an execution began with, by key. Built from entries, because `__proto__` is a valid key. */
function stateOf(text: string, values: Values, redact: Redact): object {
  return Object.fromEntries(
    [...readKeptState(text)].map(([key, { value, at }]) => [
      key,
      { value: redact(values.value(value)), at: new Date(at) },
    ]),
  )
}

/** Reverses `dataOf`. Throws a `TypeError` for invalid data; `what` begins the message. */
export function eventOf(type: string, data: unknown, values: Values, what: string): Event {
  if (!Object.hasOwn(FIELDS, type)) {
    throw new TypeError(`${what} has the unknown type "${type}"; is it from a newer version?`)
  }
  if (typeof data !== 'object' || data === null) {
    throw new TypeError(`${what}: data must be an object, got ${describe(data)}`)
  }
  const given = data as Record<string, unknown>
  const write = (name: string, kind: Kind): unknown => {
    const value = given[name]
    const field = `${what}: ${name}`
    switch (kind) {
      case 'text':
        return checkText(value, field)
      case 'integer':
        return checkInteger(value, field)
      case 'flag':
        return value === true
      case 'time':
        return value === undefined ? 0 : checkTime(value, field)
      case 'json':
        return value === undefined ? '' : JSON.stringify(value)
      case 'value':
        return values.encode(value, field)
      case 'error':
        return values.encodeError(value)
      case 'reply':
        return given['ok'] === true
          ? encodeReply(true, values.encode(value, field))
          : encodeReply(false, values.encodeError(value))
      case 'state':
        return writeState(value, field, values)
    }
  }
  const fields = Object.entries<Kind>(FIELDS[type as Event['type']])
  const event = Object.fromEntries(fields.map(([name, kind]) => [name, write(name, kind)]))
  // Reading validates the fields that have a fixed set of values.
  return readEvents(writeEvents([{ type, ...event } as Event]))[0]!
}

function writeState(value: unknown, what: string, values: Values): string {
  if (typeof value !== 'object' || value === null) {
    throw new TypeError(`${what} must be an object, got ${describe(value)}`)
  }
  const kept = Object.entries(value).map(([key, one]): [string, KeptValue] => {
    const { value: said, at } = (one ?? {}) as { value?: unknown; at?: unknown }
    const name = checkText(key, `${what}: each key`)
    return [name, { value: values.encode(said, what), at: checkTime(at, `${what}.${key}.at`) }]
  })
  return writeKeptState(new Map(kept))
}

/** Validates names and ids, which history stores without escaping. */
function checkText(value: unknown, what: string): string {
  if (isPlainText(value)) return value
  throw new TypeError(`${what} must be a string without control characters, got ${describe(value)}`)
}

/** Validates an integer of at least 0. */
export function checkInteger(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new TypeError(`${what} must be a whole number, 0 or more, got ${describe(value)}`)
}

/** Converts a date, or its JSON form, to milliseconds. */
export function checkTime(value: unknown, what: string): number {
  const ms = new Date(value instanceof Date || typeof value === 'string' ? value : NaN).getTime()
  if (!Number.isNaN(ms)) return ms
  throw new TypeError(`${what} must be a date, got ${describe(value)}`)
}
