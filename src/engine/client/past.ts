// The past of an execution as data: cutting it, and what its state was.

import type { StateChange, TurnRow } from '../../store/commits.ts'
import { type Event, readEvents, writeEvents } from '../../store/history.ts'
import { readKeptState } from '../core/kept-state.ts'

/** One event and the time of its turn. */
export interface Moment {
  readonly at: number
  readonly event: Event
}

/** The events of turns, one by one. */
export function momentsOf(turns: readonly TurnRow[]): Moment[] {
  return turns.flatMap(({ at, events }) => readEvents(events).map((event) => ({ at, event })))
}

/**
 * The rows of history for events. Those of one time are one turn: replay asks no more of a turn than
 * the time that the code saw. An end is left out, so that the code runs on.
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

/** The past up to an event. What an input at its end leads to has not happened there yet. */
export function cutAfter(moments: readonly Moment[], count: number, now: number): Moment[] {
  const kept = moments.slice(0, count)
  const last = kept.at(-1)
  if (last !== undefined && INPUTS.has(last.event.type)) {
    // The code goes on now, not when the other one did: its time-outs begin anew.
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

/** What an instance keeps after these events. */
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
