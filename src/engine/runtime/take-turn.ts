// One turn: apply what arrived, one thing at a time, and let the code run until it waits. Nothing
// leaves the process here; the caller commits what came out, and then carries it out.

import type { Event } from '../../store/history.ts'
import type { Execution, Given } from '../replay/execution.ts'
import { NondeterminismError } from '../replay/nondeterminism.ts'
import { type PastTurn, replay } from '../replay/replay.ts'
import { beginTurn, drained, endTurn } from '../replay/turn.ts'
import type { Arrival, Copy, TurnResult } from './copy.ts'
import { startedEvent } from './turn-row.ts'

/** Reads the workflow's input, or throws; the function it returns calls the code. */
export type Begin = (copy: Copy) => () => Promise<unknown>

/**
 * Takes the turn of a copy at the time `now`. A copy with a past repeats it first.
 *
 * Throws when the instance has to be set aside: its code does not do what history says, or cannot
 * be repeated.
 */
export async function takeTurn(copy: Copy, now: number, begin: Begin): Promise<TurnResult> {
  const { run } = copy
  const result = { events: [] as Event[], given: [] as Given[], taken: [] as number[] }
  await beginTurn(run)
  try {
    if (copy.past !== undefined) {
      run.replaying = !isUntouched(copy.past)
      const replayed = await replay(run, copy.past, () => run.begin(begin(copy)))
      copy.past = undefined
      copy.attempts = new Map(replayed.attempts)
      for (const command of replayed.fresh) result.events.push(command.event)
    }
    run.replaying = false
    run.at = copy.at = Math.max(now, copy.at)
    if (copy.turn === 0) {
      copy.startedAt = copy.at
      result.events.push(startedEvent(copy))
      run.begin(begin(copy))
      await drained()
      collect(run, result)
    }
    if (copy.reopened) {
      copy.reopened = false
      // All that is open has to be taken up again here; timers that are due have fired.
      for (const command of run.open.values()) result.given.push(command)
      copy.arrivals.push(...dueTimers(run.open.values(), copy.at))
    }
    const arrivals = copy.arrivals
    copy.arrivals = []
    for (const { event, inboxId } of arrivals) {
      if (inboxId !== undefined) result.taken.push(inboxId)
      // A second result, or one for a command that is settled: first result wins.
      if (run.outcome !== undefined || !run.open.has(event.command)) continue
      result.events.push(event)
      if (event.type === 'attempt') continue
      copy.attempts.delete(event.command)
      run.apply(event)
      await drained()
      collect(run, result)
    }
  } finally {
    endTurn()
  }
  if (run.broken !== undefined) throw run.broken
  if (run.outcome === undefined && run.open.size === 0) throw nothingDurable(copy)
  return result
}

/** Whether the instance was started by somebody who did not run it: all it does is new. */
function isUntouched(past: readonly PastTurn[]): boolean {
  return past.length === 1 && past[0]!.events.length === 1
}

function collect(run: Execution, { events, given }: { events: Event[]; given: Given[] }): void {
  for (const command of run.take()) {
    events.push(command.event)
    given.push(command)
  }
}

function dueTimers(open: Iterable<Given>, now: number): Arrival[] {
  return [...open]
    .map(({ event }) => event)
    .filter((event) => event.type === 'timer')
    .filter((event) => event.fireAt <= now)
    .toSorted((a, b) => a.fireAt - b.fireAt || a.command - b.command)
    .map(({ command }) => ({ event: { type: 'fired', command } }))
}

function nothingDurable({ run }: Copy): Error {
  return new Error(
    `${run.label} waits for something that is not durable (a timer, I/O, or a promise of its own ` +
      'that nothing resolves); use ctx.sleep, ctx.step or ctx.run for it',
  )
}

/** Repeats the past once more, noting where commands are given, to say where the mismatch is. */
export async function locateMismatch(
  copy: Copy,
  begin: Begin,
  error: NondeterminismError,
): Promise<NondeterminismError> {
  copy.run.trace()
  await beginTurn(copy.run)
  try {
    await replay(copy.run, copy.past ?? [], () => copy.run.begin(begin(copy)))
    return error
  } catch (again) {
    return again instanceof NondeterminismError ? again : error
  } finally {
    endTurn()
  }
}
