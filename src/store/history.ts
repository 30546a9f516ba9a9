// What happened in an execution, in order, and how it is written.
//
// A turn is one text: events joined by RS, the fields of one joined by US. Names and encoded values
// hold no raw control character (the codec escapes them, names are checked), so nothing has to be
// escaped again, and a value is copied, not parsed, on its way in and out.
//
//   E1. Event 1 of an execution is `started`.
//   E2. Commands (`activity`, `step`, `timer`) are numbered from 1 in the order the code made them,
//       and stand in history in that order, behind the input that made the code give them.
//   E3. An input (`completed`, `failed`, `fired`) names its command; a command gets at most one.

/** One thing that happened. Encoded values stay text here. */
export type Event =
  | {
      readonly type: 'started'
      readonly workflow: string
      readonly version: string
      readonly input: string
    }
  /** `where`: `local` runs at the owner. */
  | {
      readonly type: 'activity'
      readonly command: number
      readonly name: string
      readonly input: string
      readonly where: 'local'
    }
  | { readonly type: 'step'; readonly command: number; readonly name: string }
  | { readonly type: 'timer'; readonly command: number; readonly fireAt: number }
  /** An attempt failed and there will be another one, from `retryAt` on. */
  | {
      readonly type: 'attempt'
      readonly command: number
      readonly attempt: number
      readonly retryAt: number
      readonly error: string
    }
  | { readonly type: 'completed'; readonly command: number; readonly value: string }
  | { readonly type: 'failed'; readonly command: number; readonly error: string }
  | { readonly type: 'fired'; readonly command: number }
  /** Result and error stand with the instance, not here. */
  | { readonly type: 'ended'; readonly status: 'completed' | 'failed' | 'cancelled' | 'terminated' }

const EVENT = '\x1e'
const FIELD = '\x1f'

/** Writes events as one text. */
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
      return `started${FIELD}${event.workflow}${FIELD}${event.version}${FIELD}${event.input}`
    case 'activity':
      return `activity${FIELD}${event.command}${FIELD}${event.name}${FIELD}${event.where}${FIELD}${event.input}`
    case 'step':
      return `step${FIELD}${event.command}${FIELD}${event.name}`
    case 'timer':
      return `timer${FIELD}${event.command}${FIELD}${event.fireAt}`
    case 'attempt':
      return `attempt${FIELD}${event.command}${FIELD}${event.attempt}${FIELD}${event.retryAt}${FIELD}${event.error}`
    case 'completed':
      return `completed${FIELD}${event.command}${FIELD}${event.value}`
    case 'failed':
      return `failed${FIELD}${event.command}${FIELD}${event.error}`
    case 'fired':
      return `fired${FIELD}${event.command}`
    case 'ended':
      return `ended${FIELD}${event.status}`
  }
}

/** Reads what `writeEvents` wrote; throws when it is something else. */
export function readEvents(text: string): Event[] {
  return text.split(EVENT).map(readEvent)
}

function readEvent(text: string): Event {
  const fields = text.split(FIELD)
  const type = fields[0]!
  const field = (i: number): string => {
    const value = fields[i]
    if (value === undefined) throw new Error(`history: event "${type}" lacks field ${i}`)
    return value
  }
  const whole = (i: number): number => {
    const value = Number(field(i))
    // Number('') is 0, and there is more that it takes for a number.
    if (!Number.isSafeInteger(value) || String(value) !== field(i)) {
      throw new Error(`history: field ${i} of event "${type}" is not a whole number: ${field(i)}`)
    }
    return value
  }
  switch (type) {
    case 'started':
      return { type, workflow: field(1), version: field(2), input: field(3) }
    case 'activity': {
      const where = field(3)
      if (where !== 'local')
        throw new Error(`history: an activity runs at unknown place "${where}"`)
      return { type, command: whole(1), name: field(2), where, input: field(4) }
    }
    case 'step':
      return { type, command: whole(1), name: field(2) }
    case 'timer':
      return { type, command: whole(1), fireAt: whole(2) }
    case 'attempt':
      return { type, command: whole(1), attempt: whole(2), retryAt: whole(3), error: field(4) }
    case 'completed':
      return { type, command: whole(1), value: field(2) }
    case 'failed':
      return { type, command: whole(1), error: field(2) }
    case 'fired':
      return { type, command: whole(1) }
    case 'ended': {
      const status = field(1)
      if (
        status === 'completed' ||
        status === 'failed' ||
        status === 'cancelled' ||
        status === 'terminated'
      ) {
        return { type, status }
      }
      throw new Error(`history: unknown ending "${status}"`)
    }
    default:
      throw new Error(`history: unknown event "${type}"; was it written by a newer version?`)
  }
}
