// One turn: apply what arrived, one thing at a time, and let the code run until it waits. Nothing
// leaves the process here; the caller commits what came out, and then carries it out.

import type { StartItem } from '../../store/commits.ts'
import type { CommandEvent, Event, NoteEvent } from '../../store/history.ts'
import type { SharedLoopHeartbeat } from '../../store/lease.ts'
import type { Execution, IssuedCommand } from '../replay/execution.ts'
import { NondeterminismError } from '../replay/nondeterminism.ts'
import { outlastsCode } from '../replay/outlasts-code.ts'
import { type PastTurn, replay } from '../replay/replay.ts'
import { beginTurn, drained, endTurn, type Pausing, untilDone } from '../replay/turn.ts'
import { EffectsCollector } from './effects.ts'
import { LocalCall, taskFor } from '../runtime/activities/local-activities.ts'
import type { ActivityWork } from './activity-work.ts'
import {
  type Arrival,
  childrenLeft,
  type LiveInstance,
  type Mail,
  type TurnOutput,
} from './live-instance.ts'
import { startedEvent } from './turn-record.ts'
import { isPutOff, putOff } from './unread-messages.ts'

/** Reads the workflow's input, or throws; the function it returns calls the code. */
export type Begin = (instance: LiveInstance) => () => Promise<unknown>

/**
 * Takes the turn of a copy at the time `now`. A copy with a past repeats it first.
 *
 * Throws when the instance has to be set aside: its code does not do what history says, or cannot
 * be repeated.
 */
export function* takeTurn(
  instance: LiveInstance,
  now: number,
  begin: Begin,
  heartbeat?: SharedLoopHeartbeat,
  /** The start of a copy that is not recorded yet. */
  start?: () => StartItem,
): Pausing<TurnOutput> {
  const { run } = instance
  const turn = new TurnTaking(instance)
  const turnOfAnother = beginTurn(run)
  if (turnOfAnother !== undefined) yield turnOfAnother
  if (instance.turn === 0 && start !== undefined) heartbeat?.beginFirstTurn(instance, start)
  else heartbeat?.beginTurn(instance.iid)
  let arrivals: readonly Arrival[] = []
  try {
    instance.at = Math.max(now, instance.at)
    if (instance.past === undefined) run.lastBegun = run.lastCommand
    else yield* turn.repeat(instance.past, begin)
    run.replaying = false
    run.at = instance.at
    if (instance.turn === 0) {
      instance.startedAt = instance.at
      turn.events.push(startedEvent(instance))
      run.begin(begin(instance))
      yield* turn.advance()
    }
    if (instance.reopened) turn.reopen()
    arrivals = instance.arrivals
    instance.arrivals = []
    // Before the timers: a message that is there has come in time, also one that is not read yet.
    if (instance.mailbox.size > 0) yield* turn.deliver([...instance.mailbox.keys()])
    let later: Arrival[] | undefined
    for (const arrival of arrivals) {
      if (isPutOff(instance, arrival)) (later ??= []).push(putOff(instance, arrival))
      else if (turn.arrive(arrival)) yield* turn.advance()
    }
    for (const command of childrenLeft(instance)) turn.leave(command)
    turn.park()
    if (run.broken !== undefined) throw run.broken
    if (run.outcome === undefined && run.open.size === 0) throw nothingDurable(instance)
    if (later !== undefined) instance.arrivals = [...later, ...instance.arrivals]
  } catch (error) {
    // Nothing of this turn is recorded: what finished is for whoever goes on once it is resumed.
    instance.arrivals = [...arrivals, ...instance.arrivals]
    throw error
  } finally {
    heartbeat?.endTurn()
    endTurn()
  }
  return turn.result()
}

const NONE: readonly number[] = []

/** A turn while it is taken. */
class TurnTaking {
  readonly events: Event[] = []
  readonly #instance: LiveInstance
  readonly #run: Execution
  readonly #given: IssuedCommand[] = []
  readonly #taken: number[] = []
  #effects: EffectsCollector | undefined
  #newTasks: number[] | undefined

  constructor(instance: LiveInstance) {
    this.#instance = instance
    this.#run = instance.run
    if (instance.stale.length > 0) this.#taken.push(...instance.stale.splice(0))
  }

  /** Repeats the past; what the code does beyond it belongs to this turn. */
  *repeat(past: readonly PastTurn[], begin: Begin): Pausing<void> {
    const { run } = this.#instance
    run.replaying = !isUntouched(past)
    const replayed = yield* replay(run, past, this.#instance.at, () =>
      run.begin(begin(this.#instance)),
    )
    this.#instance.past = undefined
    this.#instance.attempts = new Map(replayed.attempts)
    for (const event of replayed.fresh) this.#note(event)
  }

  /** All that is open has to be taken up again here; timers that are due have fired. */
  reopen(): void {
    const { open } = this.#run
    this.#instance.reopened = false
    for (const command of open.values()) this.#given.push(command)
    // A task of what is settled would be run again.
    this.#instance.tasks?.forEach((_, command) => {
      if (!open.has(command)) this.#settleTask(command, false)
    })
    this.#instance.arrivals.push(...dueTimers(open.values(), this.#instance.at))
  }

  /** Lets the code run until it waits, and hands it messages that it waits for by then. */
  *advance(): Pausing<void> {
    yield drained
    const { given, events } = this.#run.take()
    for (const command of given) this.#given.push(command)
    for (const event of events) this.#note(event)
    if (this.#instance.mailbox.size === 0) return
    const channels = given.flatMap(({ event }) => (event.type === 'receive' ? [event.name] : []))
    if (channels.length > 0) yield* this.deliver(channels)
  }

  /** Applies what arrived; false when the code has nothing to go on with. */
  arrive({ event, inboxId, besideTask }: Arrival): boolean {
    const run = this.#run
    if (event.type === 'cancelled' && run.outcome?.kind === 'continued' && run.hasWaited) {
      // The next execution is there to clean up. One that never waits may have no other.
      this.#instance.held.push({ event, ...(inboxId !== undefined && { inboxId }) })
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
    // A second result, or one for a command that is settled: first result wins.
    const given = run.open.get(event.command)
    if (given === undefined) return false
    if (run.outcome !== undefined && !outlastsCode(given.event)) return false
    this.events.push(event)
    if (event.type === 'attempt') return false
    this.#instance.attempts.delete(event.command)
    this.#settleTask(event.command, inboxId !== undefined && besideTask !== true)
    if (inboxId !== undefined) this.#stopOwnAttempt(event.command)
    run.apply(event)
    return true
  }

  /** A child that runs, and goes on without this instance. */
  leave(command: number): void {
    this.#run.leave(command)
    this.#note({ type: 'dropped', command })
  }

  /** The result came from elsewhere, or from a transaction: an attempt here brings nothing more. */
  #stopOwnAttempt(command: number): void {
    const attempt = this.#instance.running.get(command)
    if (!(attempt instanceof LocalCall)) return
    this.#instance.running.delete(command)
    attempt.abort('its result is there')
  }

  /** A task that told its result is gone; one that is settled otherwise has to go. */
  #settleTask(command: number, hasTold: boolean): void {
    if (this.#instance.tasks?.delete(command) && !hasTold) this.#collector().dropTask(command)
  }

  /** Hands out messages of these channels, as long as somebody waits for them. */
  *deliver(channels: readonly string[]): Pausing<void> {
    const run = this.#run
    for (const channel of channels) {
      const waiting = this.#instance.mailbox.get(channel)
      while (waiting !== undefined && waiting.length > 0 && run.outcome === undefined) {
        const command = run.receiver(channel)
        const [{ inboxId, value, replyTo }] = waiting as [Mail]
        // One that is not read yet is handed out in a later turn: see U1.
        if (command === undefined || value === undefined) break
        waiting.shift()
        const received = { type: 'received', command, value, replyTo } as const
        this.#taken.push(inboxId)
        this.events.push(received)
        run.apply(received)
        yield* this.advance()
      }
      const isEmptied = waiting?.length === 0 && this.#instance.mailbox.get(channel) === waiting
      if (isEmptied) this.#instance.mailbox.delete(channel)
    }
  }

  /** What nobody waits for stays where it is, and wakes nobody any more. */
  park(): void {
    if (this.#instance.mailbox.size === 0) return
    const rows: number[] = []
    const park = (mail: Mail): void => {
      if (mail.parked) return
      mail.parked = true
      rows.push(mail.inboxId)
    }
    for (const waiting of this.#instance.mailbox.values()) waiting.forEach(park)
    if (rows.length > 0) this.#collector().park(rows)
  }

  result(): TurnOutput {
    const { run } = this.#instance
    const dropped = this.#effects?.dropped ?? NONE
    for (const command of dropped) this.#settleTask(command, false)
    for (const command of this.#newTasks ?? NONE) this.#makeTask(command)
    this.#effects?.close(dropped.filter((command) => run.isChild(command)))
    return {
      events: this.events,
      given: this.#given.filter(({ event }) => run.open.has(event.command)),
      taken: this.#taken,
      dropped,
      effects: this.#effects?.effects ?? null,
    }
  }

  /** Made when there is something to collect: most turns have nothing of the kind. */
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

  /** Unless it was called off in the same turn. */
  #makeTask(command: number): void {
    const given = this.#run.open.get(command)
    if (given === undefined) return
    this.#collector().task(taskFor(this.#instance, command, given.work as ActivityWork))
    ;(this.#instance.tasks ??= new Map()).set(command, { command, attempts: 0, held: false })
  }
}

/** Whether the instance was started by somebody who did not run it: all it does is new. */
function isUntouched(past: readonly PastTurn[]): boolean {
  return past.length === 1 && past[0]!.events.length === 1
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

function nothingDurable({ run }: LiveInstance): Error {
  return new Error(
    `${run.label} waits for something that is not durable (a timer, I/O, or a promise of its own ` +
      'that nothing resolves); use ctx.sleep, ctx.step or ctx.run for it',
  )
}

/** Repeats the past once more, noting where commands are given, to say where the mismatch is. */
export async function locateMismatch(
  instance: LiveInstance,
  begin: Begin,
  error: NondeterminismError,
): Promise<NondeterminismError> {
  try {
    await retrace(instance, begin)
    return error
  } catch (again) {
    return again instanceof NondeterminismError ? again : error
  }
}

/** Repeats the past of a copy that nobody else has, noting where commands are given. */
export async function retrace(instance: LiveInstance, begin: Begin): Promise<void> {
  instance.run.trace()
  await beginTurn(instance.run)
  try {
    await untilDone(
      replay(instance.run, instance.past ?? [], instance.at, () =>
        instance.run.begin(begin(instance)),
      ),
    )
  } finally {
    endTurn()
  }
}
