// Describes commands and notes for error messages and reports.

import type { CommandEvent, NoteEvent } from '../../store/history.ts'

/** A command whose number is not assigned yet. */
export type NewCommand = Unnumbered<CommandEvent>

type Unnumbered<E> = E extends unknown ? Omit<E, 'command'> & { command: number } : never

/** Describes a command. */
export function describeCommand(command: NewCommand): string {
  switch (command.type) {
    case 'timer':
      return 'a timer'
    case 'activity':
      return `activity "${command.name}"${routeOf(command)}`
    case 'step':
      return `step "${command.name}"`
    case 'receive':
      return `receive on channel "${command.name}"`
    case 'child':
      return `child workflow "${command.workflow}"`
    case 'start':
      return `start of workflow "${command.workflow}"`
    case 'send':
      return `send to "${command.id}" on channel "${command.name}"`
    case 'read':
      return `read of state "${command.key}" of "${command.id}"`
  }
}

/** Describes a command as a call. */
export function describeCall(command: NewCommand): string {
  return command.type === 'timer' ? 'ctx.sleep()' : describeCommand(command)
}

function routeOf({ tag, session }: { readonly tag: string; readonly session: string }): string {
  if (tag === '' && session === '') return ''
  const route = [tag && `tag "${tag}"`, session && `session "${session}"`]
  return ` (${route.filter((part) => part !== '').join(', ')})`
}

/** Describes a note. */
export function describeNote(note: NoteEvent): string {
  switch (note.type) {
    case 'dropped':
      return `cancel of command ${note.command}`
    case 'set':
      return `state.set "${note.key}"`
    case 'unset':
      return `state.delete "${note.key}"`
    case 'cleared':
      return 'state.clear'
    case 'progress':
      return 'progress'
    case 'replied':
      return 'reply()'
    case 'patched':
      return `patched "${note.change}"`
    case 'refused':
      return 'a value over its limit'
  }
}
