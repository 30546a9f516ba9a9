import type { Loaded } from '../../store/claims.ts'
import type { CommandEvent, Event } from '../../store/history.ts'
import { readEvents } from '../../store/history.ts'
import { describeActivity, type Observation, type CallState } from './describe-activity.ts'

/** Describes what an instance waits for, from its history and inbox, without running its code. */
export function waitingFor(
  { history, inbox }: Pick<Loaded, 'history' | 'inbox'>,
  observation: Observation,
): readonly string[] {
  const open = new Map<number, Waits>()
  const cancellation: string[] = []
  for (const { at, events } of history) {
    for (const event of readEvents(events)) {
      if (event.type === 'cancelled') cancellation.push(`the end of its clean-up${because(event)}`)
      else note(open, event, at)
    }
  }
  const asked = inbox.find(({ kind }) => kind === 'cancel')
  if (asked !== undefined && cancellation.length === 0) {
    cancellation.push(`its cancellation${because({ reason: asked.payload! })}`)
  }
  return [...cancellation, ...[...open.values()].map((waits) => describeWait(waits, observation))]
}

/** An open command, and its progress so far. */
interface Waits extends CallState {
  readonly event: CommandEvent
}

function note(open: Map<number, Waits>, event: Event, at: number): void {
  switch (event.type) {
    case 'activity':
    case 'step':
    case 'timer':
    case 'child':
    case 'start':
    case 'receive':
    case 'send':
    case 'read':
      open.set(event.command, { event, givenAt: at })
      return
    case 'attempt': {
      const known = open.get(event.command)
      if (known !== undefined) open.set(event.command, { ...known, failed: event })
      return
    }
    case 'completed':
    case 'failed':
    case 'fired':
    case 'received':
    case 'dropped':
      open.delete(event.command)
      return
    case 'started':
    case 'forked':
    case 'ended':
    case 'cancelled':
    case 'set':
    case 'unset':
    case 'cleared':
    case 'progress':
    case 'replied':
    case 'refused':
    case 'patched':
  }
}

function describeWait(waits: Waits, observation: Observation): string {
  const { event: command } = waits
  switch (command.type) {
    case 'activity':
      return `activity "${command.name}"${routeOf(command)}${describeActivity(command, waits, observation)}`
    case 'step':
      return `step "${command.name}"${describeActivity(command, waits, observation)}`
    case 'timer':
      return `timer until ${timeOf(command.fireAt)}`
    case 'child':
      return `child "${command.id}" of workflow "${command.workflow}"`
    case 'start':
      return `start of "${command.id}" of workflow "${command.workflow}"`
    case 'receive': {
      const until = command.until === 0 ? '' : ` until ${timeOf(command.until)}`
      return `message on channel "${command.name}"${until}`
    }
    case 'send':
      return `send to channel "${command.name}" of "${command.id}"`
    case 'read':
      return `state "${command.key}" of "${command.id}"`
  }
}

/** The tag and session that decide where it runs. */
function routeOf({ tag, session }: Extract<CommandEvent, { type: 'activity' }>): string {
  const at = [tag !== '' && `tag "${tag}"`, session !== '' && `session "${session}"`]
  const route = at.filter((one) => one !== false).join(' and ')
  return route === '' ? '' : ` (${route})`
}

function because({ reason }: { readonly reason: string }): string {
  const text = JSON.parse(reason) as string
  return text === '' ? '' : ` (cancelled: ${text})`
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
