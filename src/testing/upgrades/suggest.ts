// Says what would keep instances running that a change of the code breaks: the `ctx.patched` call to
// write there.

import type { CommandEvent, Event } from '../../store/history.ts'
import { callOf, isCommand, isSameCall, nameOf, quote, type Recorded } from './calls.ts'
import type { Breakage } from './rehearsals.ts'

/** What changed, as far as one history shows it. */
export type Change =
  | 'added'
  | 'removed'
  | 'replaced'
  | 'reordered'
  | 'input'
  /** The code throws where it once continued. */
  | 'throws'
  | 'other'

/** How to keep the instances that a change breaks. */
export interface Suggestion {
  readonly change: Change
  /** The code to write, if a patch can help. */
  readonly patch?: string
}

/** Says how to keep the instances that break like this. */
export function suggest({ mismatch, events, position, line, asksLater }: Breakage): Suggestion {
  if (mismatch === undefined) return { change: 'other' }
  const { recorded, given, does, isLater } = mismatch
  if (does === 'throws') return { change: 'throws' }
  if (recorded === undefined) {
    if (given === undefined) return { change: 'other' }
    return isAskedFrom(position, events, given)
      ? reordering(`${nameOf(given)} earlier`)
      : addition(given, line)
  }
  const old = `${callOf(recorded)} // for instances that passed this place with the old code`
  if (given !== undefined && isSameCall(given, recorded) && isLater !== true) {
    const change = `new input of ${nameOf(recorded)}`
    const choice = `const input = ctx.patched(${quote(change)}) ? newInput : oldInput`
    return { change: 'input', patch: `${choice}\n${newCall(given, line, 'input')}` }
  }
  const wasLater = given !== undefined && isAskedFrom(position + 1, events, given)
  if (asksLater) {
    if (given === undefined) return reordering(`${nameOf(recorded)} later`)
    if (!wasLater) return addition(given, line)
    return reordering(`${nameOf(given)} before ${nameOf(recorded)}`)
  }
  if (given === undefined || wasLater || isRemoval(position, events, given)) {
    const conditional = `${old}, under the condition it had`
    return {
      change: 'removed',
      patch: wrap(`remove ${nameOf(recorded)}`, conditional, { isNegated: true }),
    }
  }
  const change = `${nameOf(given)} instead of ${nameOf(recorded)}`
  return { change: 'replaced', patch: wrap(change, newCall(given, line), { otherwise: old }) }
}

function addition(given: Recorded, line: string): Suggestion {
  return { change: 'added', patch: wrap(`add ${nameOf(given)}`, newCall(given, line)) }
}

function reordering(change: string): Suggestion {
  const otherwise = '// the calls in the old order'
  return {
    change: 'reordered',
    patch: wrap(change, '// the calls in the new order', { otherwise }),
  }
}

/** Whether the code asks for a timer that comes right after the recorded command. */
function isRemoval(position: number, events: readonly Event[], given: Recorded): boolean {
  if (given.type !== 'timer') return false
  const commands = events.filter((event): event is CommandEvent => isCommand(event as Recorded))
  return commands.find(({ command }) => command === position + 1)?.type === 'timer'
}

/** Whether history has the same call at this position or later. */
function isAskedFrom(position: number, events: readonly Event[], given: Recorded): boolean {
  // A timer has no name: that there is one later says nothing.
  if (given.type === 'timer') return false
  return events.some(
    (event) =>
      'command' in event && event.command >= position && isSameCall(given, event as Recorded),
  )
}

function wrap(
  change: string,
  body: string,
  { isNegated = false, otherwise = '' }: { isNegated?: boolean; otherwise?: string } = {},
): string {
  const condition = `${isNegated ? '!' : ''}ctx.patched(${quote(change)})`
  const last = otherwise === '' ? '}' : `} else {\n  ${otherwise}\n}`
  return `if (${condition}) {\n  ${body}\n${last}`
}

function newCall(given: Recorded, line: string, input?: string): string {
  const which = given.type === 'timer' ? 'or a timeout of a scope: the new call' : 'the new call'
  return `${callOf(given, input)} // ${which}${line === '' ? '' : `, ${line}`}`
}
