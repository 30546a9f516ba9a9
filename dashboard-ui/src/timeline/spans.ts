// A history as spans: each command of the code from the event that issued it to the one that settled
// it, with the attempts in between. Pure, and one pass over the events.

import type { Shown } from '../../../src/dashboard/api.ts'
import { untagged } from '../format/shown.ts'

/** An event as the dashboard reads it. */
export interface TimelineEvent {
  readonly seq: number
  readonly type: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly data: Readonly<Record<string, Shown>>
}

export type SpanKind =
  | 'activity'
  | 'step'
  | 'timer'
  | 'child'
  | 'start'
  | 'receive'
  | 'send'
  | 'read'

/** How a command was settled; `open` while it is not. */
export type Outcome = 'open' | 'completed' | 'failed' | 'fired' | 'received' | 'dropped'

/** An attempt of an activity or step that failed and was followed by another. */
export interface FailedAttempt {
  readonly seq: number
  readonly attempt: number
  readonly at: number
  /** When the next attempt was to begin. */
  readonly retryAt: number
  readonly error: Shown
}

export interface Span {
  readonly command: number
  readonly kind: SpanKind
  /** The name of what was asked for: an activity, a channel, an id. */
  readonly name: string
  readonly from: number
  readonly firstSeq: number
  to: number | undefined
  lastSeq: number | undefined
  outcome: Outcome
  readonly attempts: FailedAttempt[]
  /** Where a timer or the timeout of a receive ends. */
  readonly dueAt: number | undefined
}

const COMMANDS: readonly string[] = [
  'activity',
  'step',
  'timer',
  'child',
  'start',
  'receive',
  'send',
  'read',
] satisfies SpanKind[]

const OUTCOMES: readonly string[] = [
  'completed',
  'failed',
  'fired',
  'received',
  'dropped',
] satisfies Outcome[]

/** Whether an event issues a command. */
export function isCommand(type: string): type is SpanKind {
  return COMMANDS.includes(type)
}

/** Spans in the order of the code. */
export function spansOf(events: readonly TimelineEvent[]): readonly Span[] {
  const spans: Span[] = []
  const byCommand = new Map<number, Span>()
  for (const event of events) {
    const command = event.data['command']
    if (typeof command !== 'number') continue
    if (isCommand(event.type)) {
      const span = openSpan(event, event.type, command)
      byCommand.set(command, span)
      spans.push(span)
      continue
    }
    const span = byCommand.get(command)
    if (span === undefined) continue
    if (event.type === 'attempt') span.attempts.push(attemptOf(event))
    // A dropped command may still get a result, which the code does not see: the first counts.
    else if (OUTCOMES.includes(event.type) && span.outcome === 'open') {
      span.to = event.at
      span.lastSeq = event.seq
      span.outcome = event.type as Outcome
    }
  }
  return spans
}

function openSpan(event: TimelineEvent, kind: SpanKind, command: number): Span {
  return {
    command,
    kind,
    name: commandName(kind, event.data),
    from: event.at,
    firstSeq: event.seq,
    to: undefined,
    lastSeq: undefined,
    outcome: 'open',
    attempts: [],
    dueAt: timeOf(event.data['fireAt'] ?? event.data['until']),
  }
}

function attemptOf({ seq, at, data }: TimelineEvent): FailedAttempt {
  return {
    seq,
    attempt: Number(data['attempt']),
    at,
    retryAt: timeOf(data['retryAt']) ?? at,
    error: data['error'] ?? null,
  }
}

/** What a command is called in a row: the name of an activity, the id of a child, a channel. */
export function commandName(kind: SpanKind, data: TimelineEvent['data']): string {
  const text = (key: string): string => {
    const value = untagged(data[key])
    return typeof value === 'string' ? value : ''
  }
  switch (kind) {
    case 'activity':
    case 'step':
    case 'receive':
      return text('name')
    case 'child':
    case 'start':
      return `${text('workflow')} ${text('id')}`
    case 'send':
      return `${text('name')} → ${text('id')}`
    case 'read':
      return `${text('key')} of ${text('id')}`
    case 'timer':
      return ''
  }
}

/** Milliseconds of a date as the server writes it; `undefined` for none. */
export function timeOf(value: Shown | undefined): number | undefined {
  const text = untagged(value)
  if (typeof text !== 'string') return undefined
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** A span as it was when the history ended with this event; `undefined` if it did not exist yet. */
export function spanAsOf(span: Span, seq: number): Span | undefined {
  if (span.firstSeq > seq) return undefined
  if (span.lastSeq === undefined || span.lastSeq <= seq) {
    return span.attempts.length === 0 || span.attempts.at(-1)!.seq <= seq
      ? span
      : { ...span, attempts: span.attempts.filter((attempt) => attempt.seq <= seq) }
  }
  return {
    ...span,
    to: undefined,
    lastSeq: undefined,
    outcome: 'open',
    attempts: span.attempts.filter((attempt) => attempt.seq <= seq),
  }
}
