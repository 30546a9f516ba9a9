// What a history says by itself, read as simply as can be: the model that the engine is held against.

import type { CommandEvent, Event } from '../../src/store/history.ts'

const COMMANDS = 'activity step timer child start receive send read'.split(' ')
const ENDS_OF_COMMANDS = 'completed failed fired received dropped'.split(' ')

export function isCommand(event: Event): event is CommandEvent {
  return COMMANDS.includes(event.type)
}

/** Commands that were given and neither settled nor dropped, in the order they were given. */
export function openAfter(events: readonly Event[]): number[] {
  const open = new Set<number>()
  for (const event of events) {
    if (isCommand(event)) open.add(event.command)
    else if ('command' in event && ENDS_OF_COMMANDS.includes(event.type)) open.delete(event.command)
  }
  return [...open]
}
