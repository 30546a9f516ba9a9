// Splits, cuts and reassembles the history of an execution, for forks and imports.

import type { StateChange, TurnRow } from '../../store/commits.ts'
import { type Event, readEvents, writeEvents } from '../../store/history.ts'
import { readKeptState } from '../core/kept-state.ts'

/** An event with the time of its turn. */
export interface Moment {
  readonly at: number
  readonly event: Event
}

/** The events of turns, in order. */
export function momentsOf(turns: readonly TurnRow[]): Moment[] {
  return turns.flatMap(({ at, events }) => readEvents(events).map((event) => ({ at, event })))
}

/**
 * The rows of history for events. Events of the same time form one turn, because replay needs of a turn
 * only the time that the code saw. Leaves out the end, so that the code continues.
 */
export function turnsOf(execution: number, moments: readonly Moment[]): TurnRow[] {
  const turns: { at: number; first: number; events: Event[] }[] = []
  for (const [i, { at, event }] of moments.entries()) {
    if (event.type === 'ended') continue
    const last = turns.at(-1)
    if (last?.at === at) last.events.push(event)
    else turns.push({ at, first: i + 1, events: [event] })
  }
  return turns.map(({ at, first, events }, i) => ({
    execution,
    turn: i + 1,
    at,
    first,
    count: events.length,
    events: writeEvents(events),
  }))
}

/** The history up to an event. If that is an input, the code has not reacted to it yet. */
export function cutAfter(moments: readonly Moment[], count: number, now: number): Moment[] {
  const kept = moments.slice(0, count)
  const last = kept.at(-1)
  if (last !== undefined && INPUTS.has(last.event.type)) {
    // The code continues now, not when the other did, so that its timeouts begin anew.
    const at = Math.max(last.at, now)
    kept.splice(-1, 1, { at, event: { type: 'forked' } }, { ...last, at })
  }
  return kept
}

const INPUTS: ReadonlySet<Event['type']> = new Set([
  'completed',
  'failed',
  'fired',
  'received',
  'cancelled',
])

/** The state of an instance after these events. */
export function stateAfter(moments: readonly Moment[]): StateChange[] {
  const state = new Map<string, string>()
  for (const { event } of moments) {
    if (event.type === 'set') state.set(event.key, event.value)
    if (event.type === 'unset') state.delete(event.key)
    if (event.type === 'cleared') state.clear()
    if (event.type !== 'started') continue
    for (const [key, { value }] of readKeptState(event.state)) state.set(key, value)
  }
  return [...state].map(([key, value]) => ({ key, value }))
}
