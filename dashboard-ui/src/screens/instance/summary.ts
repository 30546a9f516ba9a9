import type { Shown } from '../../../../src/dashboard/api.ts'
import { fieldsOf, preview, untagged } from '../../format/shown.ts'
import { commandName, isCommand, type TimelineEvent, timeOf } from '../../timeline/spans.ts'
import { formatClock } from '../../format/time.ts'
import type { IconName } from '../../ui/icon.tsx'

/** What an event is about, in one line. */
export function summaryOf({ type, data }: TimelineEvent): string {
  if (isCommand(type)) {
    const due = timeOf(data['fireAt'] ?? data['until'])
    const name = commandName(type, data)
    if (due !== undefined) return `${name} until ${formatClock(due)}`.trim()
    return data['input'] === undefined ? name : `${name} ${preview(data['input'], 120)}`
  }
  switch (type) {
    case 'started':
      return preview(data['input'], 160)
    case 'completed':
    case 'received':
    case 'progress':
      return preview(data['value'], 160)
    case 'failed':
      return errorText(data['error'])
    case 'attempt':
      return `attempt ${preview(data['attempt'])} failed: ${errorText(data['error'])}`
    case 'set':
      return `${String(untagged(data['key']))} = ${preview(data['value'], 140)}`
    case 'unset':
      return String(untagged(data['key']))
    case 'patched':
      return String(untagged(data['change']))
    case 'ended':
      return String(untagged(data['status']))
    case 'cancelled':
      return preview(data['reason'], 160)
    default:
      return ''
  }
}

/** An error in one line, as a stack begins. */
export function errorText(error: Shown | undefined): string {
  const { name, message } = fieldsOf(error)
  if (typeof name !== 'string' || message === undefined) return preview(error, 160)
  return `${name}: ${String(untagged(message))}`
}

/** The colour of an event, by what it means for the workflow. */
export function eventTone({ type, data }: TimelineEvent): string {
  switch (type) {
    case 'completed':
    case 'received':
    case 'fired':
      return 'completed'
    case 'failed':
    case 'attempt':
    case 'refused':
      return 'failed'
    case 'cancelled':
      return 'suspended'
    case 'ended':
      return data['status'] === 'failed' ? 'failed' : 'completed'
    case 'timer':
    case 'receive':
      return 'waiting'
    case 'activity':
    case 'step':
    case 'child':
    case 'start':
    case 'send':
    case 'read':
      return 'running'
    default:
      return 'ended'
  }
}

const ICONS: Readonly<Record<string, IconName>> = {
  activity: 'activity',
  step: 'step',
  timer: 'timer',
  receive: 'receive',
  child: 'child',
  start: 'child',
  send: 'send',
  read: 'search',
}

export function iconOf(kind: string): IconName {
  return ICONS[kind] ?? 'step'
}
