// One turn: apply what arrived, one thing at a time, and let the code run until it waits. Nothing
// leaves the process here: the caller commits the output, and then carries it out.

import type { StartItem } from '../../store/commits.ts'
import type { CommandEvent, Event, NoteEvent } from '../../store/history.ts'
import type { SharedLoopHeartbeat } from '../../watchdog/shared-loop-heartbeat.ts'
import type { Execution, IssuedCommand } from '../replay/execution.ts'
import { outlastsCode } from '../replay/outlasts-code.ts'
import { isUntouched, type PastTurn, replay, type Replayed } from '../replay/replay.ts'
import { beginTurn, drained, endTurn, type Pausing, untilDone } from '../replay/current-turn.ts'
import type { ActivityWork } from './activity-work.ts'
import type { Arrival } from './arrival.ts'
import { EffectsCollector } from './effects.ts'
import type { LiveInstance } from './live-instance.ts'
import type { TurnOutput } from './turn-output.ts'
import { taskFor } from './task-for.ts'
import { startedEvent } from './turn-record.ts'

/** Reads the workflow's input, or throws; the function it returns calls the code. */
export type Begin = (instance: LiveInstance) => () => Promise<unknown>

/** Writes the start of an instance that is not committed yet. */
export interface StartWriter {
  startOf(instance: LiveInstance): StartItem
}

/**
 * Takes the turn of an instance at the time `now`. One that was loaded replays its past first.
 *
 * Throws when the instance has to be suspended: its code does not match its history, or cannot be
 * replayed.
 */
export function* takeTurn(
  instance: LiveInstance,
  now: number,
  begin: Begin,
  heartbeat?: SharedLoopHeartbeat,
  starts?: StartWriter,
): Pausing<TurnOutput> {
  const { run, inbox } = instance
  const turn = new Turn(instance)
  const turnOfAnother = beginTurn(run)
  if (turnOfAnother !== undefined) yield turnOfAnother
  if (heartbeat !== undefined) noteTurn(instance, heartbeat, starts)
  let arrivals: readonly Arrival[] = []
  try {
    instance.beginTurn(now)
    if (instance.past === undefined) run.lastBegun = run.lastCommand
    else yield* turn.repeat(instance.past, begin)
    run.replaying = false
    run.at = instance.at
    if (!instance.isStarted) {
      instance.beginCode()
      turn.events.push(startedEvent(instance))
      run.begin(begin(instance))
      yield* turn.advance()
    }
    if (instance.isReopened) turn.reopen()
    arrivals = inbox.takeArrivals()
    // Before the timers: a message that is there has come in time, also one that is not read yet.
    if (inbox.hasMessages) yield* turn.deliver(inbox.channels)
    let later: Arrival[] | undefined
    for (const arrival of arrivals) {
      if (inbox.mustWait(arrival)) (later ??= []).push(inbox.deferred(arrival))
      else if (turn.arrive(arrival)) yield* turn.advance()
    }
    for (const command of instance.childrenLeft()) turn.leave(command)
    turn.park()
    checkWait(instance)
    if (later !== undefined) inbox.putBack(later)
  } catch (error) {
    // Nothing of this turn is committed: the arrivals are for the owner that resumes the instance.
    inbox.putBack(arrivals)
    throw error
  } finally {
    heartbeat?.endTurn()
    endTurn()
  }
  return turn.output()
}

/** Notes whose code is about to run, in case it blocks the event loop. */
function noteTurn(
  instance: LiveInstance,
  heartbeat: SharedLoopHeartbeat,
  starts: StartWriter | undefined,
): void {
  if (instance.isStarted || starts === undefined) heartbeat.beginTurn(instance.iid)
  else heartbeat.beginFirstTurn(instance, () => starts.startOf(instance))
}

const NONE: readonly number[] = []

/** A turn in progress. */
class Turn {
  readonly events: Event[] = []
  readonly #instance: LiveInstance
  readonly #run: Execution
  readonly #issued: IssuedCommand[] = []
  readonly #taken: number[] = []
  #effects: EffectsCollector | undefined
  #newTasks: number[] | undefined
  #traces: string[] | undefined

  constructor(instance: LiveInstance) {
    this.#instance = instance
    this.#run = instance.run
    for (const row of instance.inbox.takeStale()) this.#taken.push(row)
  }

  /** Replays the past; what the code does beyond it belongs to this turn. */
  *repeat(past: readonly PastTurn[], begin: Begin): Pausing<void> {
    const run = this.#run
    const instance = this.#instance
    run.replaying = !isUntouched(past)
    const replayed = yield* replay(run, past, instance.at, () => run.begin(begin(instance)))
    instance.replayed(replayed)
    for (const event of replayed.fresh) this.#note(event)
  }

  /** Takes up all open commands again. Timers that are due fire. */
  reopen(): void {
    const { open } = this.#run
    const { calls, inbox, at } = this.#instance
    this.#instance.takenUp()
    for (const command of open.values()) this.#issued.push(command)
    // A task of a settled command would run again.
    for (const command of calls.tasks) {
      if (!open.has(command)) this.#settleTask(command, false)
    }
    for (const timer of dueTimers(open.values(), at)) inbox.arrive(timer)
  }

  /** Lets the code run until it waits, then delivers the messages that it waits for. */
  *advance(): Pausing<void> {
    yield drained
    const { given, events } = this.#run.take()
    for (const command of given) this.#issued.push(command)
    for (const event of events) this.#note(event)
    if (!this.#instance.inbox.hasMessages) return
    const channels = given.flatMap(({ event }) => (event.type === 'receive' ? [event.name] : []))
    if (channels.length > 0) yield* this.deliver(channels)
  }

  /** Applies an arrival. Returns false when the code has no reason to run. */
  arrive({ event, inboxId, besideTask }: Arrival): boolean {
    const run = this.#run
    if (event.type === 'cancelled' && run.outcome?.kind === 'continued' && run.hasWaited) {
      // The next execution is there to clean up. One that never waits may have no other.
      this.#instance.inbox.leaveToNext({ event, ...(inboxId !== undefined && { inboxId }) })
      return false
    }
    if (inboxId !== undefined) this.#taken.push(inboxId)
    if (event.type === 'cancelled') {
      const hasEnded = run.outcome !== undefined && run.outcome.kind !== 'continued'
      if (hasEnded || run.cancelled !== undefined) return false
      this.events.push(event)
      run.cancel(event)
      return true
    }
    // A second result, or one for a settled command: the first result wins.
    const issued = run.open.get(event.command)
    if (issued === undefined) return false
    if (run.outcome !== undefined && !outlastsCode(issued.event)) return false
    this.events.push(event)
    if (event.type === 'attempt') return false
    this.#instance.calls.settled(event.command)
    this.#settleTask(event.command, inboxId !== undefined && besideTask !== true)
    if (inboxId !== undefined) this.#stopOwnAttempt(event.command)
    run.apply(event)
    return true
  }

  /** Leaves a running child, which continues without this instance. */
  leave(command: number): void {
    this.#run.leave(command)
    this.#note({ type: 'dropped', command })
  }

  /** The result came from another runtime or a transaction: an attempt here is not needed. */
  #stopOwnAttempt(command: number): void {
    const { calls } = this.#instance
    if (calls.attempt(command)?.kind === 'activity') calls.abort(command, 'its result has arrived')
  }

  /** Drops the task of a settled command, unless it delivered the result: then the store deleted it. */
  #settleTask(command: number, hasDelivered: boolean): void {
    if (this.#instance.calls.taskOver(command) && !hasDelivered) {
      this.#collector().dropTask(command)
    }
  }

  /** Delivers messages of these channels, as long as the code waits for them. */
  *deliver(channels: readonly string[]): Pausing<void> {
    const { inbox } = this.#instance
    for (const channel of channels) {
      for (let next = inbox.takeMessage(channel); next; next = inbox.takeMessage(channel)) {
        const { command, message } = next
        const { inboxId, value, replyTo, trace } = message
        if (trace !== undefined) (this.#traces ??= []).push(trace)
        const received = { type: 'received', command, value: value!, replyTo } as const
        this.#taken.push(inboxId)
        this.events.push(received)
        this.#run.apply(received)
        yield* this.advance()
      }
    }
  }

  /** Messages that no code waits for stay in the inbox, and no longer wake the instance. */
  park(): void {
    if (!this.#instance.inbox.hasMessages) return
    const rows = this.#instance.inbox.park()
    if (rows.length > 0) this.#collector().park(rows)
  }

  output(): TurnOutput {
    const run = this.#run
    const dropped = this.#effects?.dropped ?? NONE
    for (const command of dropped) this.#settleTask(command, false)
    for (const command of this.#newTasks ?? NONE) this.#makeTask(command)
    this.#effects?.close(dropped.filter((command) => run.isChild(command)))
    return {
      events: this.events,
      issued: this.#issued.filter(({ event }) => run.open.has(event.command)),
      taken: this.#taken,
      dropped,
      effects: this.#effects?.effects ?? null,
      traces: this.#traces,
    }
  }

  /** Created on first use: most turns have no effects. */
  #collector(): EffectsCollector {
    return (this.#effects ??= new EffectsCollector(this.#instance.iid))
  }

  #note(event: CommandEvent | NoteEvent): void {
    this.events.push(event)
    if (event.type === 'dropped' || !('command' in event)) this.#collector().note(event)
    else if (event.type === 'activity' && event.where === 'task') {
      ;(this.#newTasks ??= []).push(event.command)
    }
  }

  /** Unless it was cancelled in the same turn. */
  #makeTask(command: number): void {
    const issued = this.#run.open.get(command)
    if (issued === undefined) return
    this.#collector().task(taskFor(this.#instance, command, issued.work as ActivityWork))
    this.#instance.calls.becameTask({ command, attempts: 0, isOwned: false })
  }
}

function dueTimers(open: Iterable<IssuedCommand>, now: number): Arrival[] {
  return [...open]
    .map(({ event }) => ({ command: event.command, at: firesAt(event) }))
    .filter(({ at }) => at <= now)
    .toSorted((a, b) => a.at - b.at || a.command - b.command)
    .map(({ command }) => ({ event: { type: 'fired', command } }))
}

/** When time alone settles a command. */
export function firesAt(event: CommandEvent): number {
  if (event.type === 'timer') return event.fireAt
  return event.type === 'receive' && event.until > 0 ? event.until : Infinity
}

/** Throws if the code broke a rule, or waits for something that can never wake it. */
function checkWait({ run }: LiveInstance): void {
  if (run.broken !== undefined) throw run.broken
  if (run.outcome !== undefined || run.open.size > 0) return
  throw new Error(
    `${run.label} waits for something that is not durable (a timer, I/O, or a promise of its own ` +
      `that nothing resolves)${run.lastCall?.text ?? ''}; use ctx.sleep, ctx.step or ctx.run for it`,
  )
}

/** Replays the past once more, noting where commands are issued, to say where the mismatch is. */
export async function locateMismatch<E extends Error>(
  instance: LiveInstance,
  begin: Begin,
  error: E,
): Promise<E> {
  try {
    await retrace(instance, begin)
    return error
  } catch (again) {
    return (again as Error).constructor === error.constructor ? (again as E) : error
  }
}

/** Replays the past of an instance, noting where commands are issued. */
export async function retrace(instance: LiveInstance, begin: Begin): Promise<Replayed> {
  instance.run.trace()
  return rehearse(instance, begin)
}

/**
 * Replays the past of an instance and nothing more: what its code then asks for is returned, and not
 * carried out. Throws where `takeTurn` would.
 */
export async function rehearse(instance: LiveInstance, begin: Begin): Promise<Replayed> {
  const { run, past = [] } = instance
  await beginTurn(run)
  try {
    run.replaying = !isUntouched(past)
    const work = replay(run, past, instance.at, () => run.begin(begin(instance)))
    const replayed = await untilDone(work)
    checkWait(instance)
    return replayed
  } finally {
    endTurn()
  }
}
