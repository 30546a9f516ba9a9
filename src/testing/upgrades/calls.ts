// Names recorded commands and notes, and writes them as the code that makes them.

import type { CommandEvent, NoteEvent } from '../../store/history.ts'

/** Something that code did, as history has it. */
export type Recorded = CommandEvent | NoteEvent

/** Whether it is a command, and not a note. */
export function isCommand(event: Recorded): event is CommandEvent {
  return event.type !== 'dropped' && 'command' in event
}

/** Whether both are the same call, apart from its input. */
export function isSameCall(one: Recorded, other: Recorded): boolean {
  return one.type === other.type && nameOf(one) === nameOf(other)
}

/** A name for people, such as `charge` for the activity of that name. */
export function nameOf(event: Recorded): string {
  switch (event.type) {
    case 'activity':
    case 'step':
    case 'receive':
      return event.name
    case 'child':
    case 'start':
      return event.workflow
    case 'timer':
      return 'timer'
    case 'send':
      return `message to ${event.name}`
    case 'read':
      return `state of ${event.id}`
    case 'set':
    case 'unset':
      return `state ${event.key}`
    case 'cleared':
      return 'state'
    case 'dropped':
      return `cancel of command ${event.command}`
    case 'progress':
    case 'replied':
    case 'patched':
    case 'refused':
      return event.type
  }
}

/** The call as code, as far as history has it. */
export function callOf(event: Recorded, input = '…'): string {
  switch (event.type) {
    case 'activity':
      return `await ctx.run(${identifier(event.name)}, ${input})`
    case 'step':
      return `await ctx.step(${quote(event.name)}, …)`
    case 'timer':
      return 'await ctx.sleep(…)'
    case 'child':
      return `await ctx.run(${identifier(event.workflow)}, ${input})`
    case 'start':
      return `await ctx.start(${identifier(event.workflow)}, ${input})`
    case 'receive':
      return `await ctx.receive(${identifier(event.name)})`
    case 'send':
      return `await ctx.get(${quote(event.id)}).send(${identifier(event.name)}, ${input})`
    case 'read':
      return `await ctx.get(${quote(event.id)}).readState(${identifier(event.key)})`
    case 'set':
      return `ctx.state.set(${identifier(event.key)}, ${input})`
    case 'unset':
      return `ctx.state.delete(${identifier(event.key)})`
    case 'cleared':
      return 'ctx.state.clear()'
    case 'dropped':
      return 'call.cancel()'
    case 'progress':
      return 'ctx.progress(…)'
    case 'replied':
      return 'request.reply(…)'
    case 'patched':
      return `ctx.patched(${quote(event.change)})`
    case 'refused':
      return '// a value over its limit'
  }
}

/** What the constant of a definition is probably called: `sendMail` for "send mail". */
function identifier(name: string): string {
  const words = name.split(/[^\p{ID_Continue}]+/u).filter((word) => word !== '')
  const joined = words
    .map((word, i) => (i === 0 ? word : word[0]!.toUpperCase() + word.slice(1)))
    .join('')
  return /^\p{ID_Start}/u.test(joined) ? joined : `_${joined}`
}

export function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
