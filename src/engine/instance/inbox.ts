// What waits for the next turns of an instance: results, timers, cancellations and messages.
//
// A channel may hold more messages than are read at once: what follows the first megabyte is read
// once the messages before it are gone (see `MAX_MAIL_BYTES`), and what came with a start is read once
// the start is committed. A message that is there has come in time, also one that is not read yet:
//
//   Late timers: while code waits for a message that is not read yet, no timer fires. The timer is
//   deferred until the messages that came before it are delivered.
//   Fast senders: a timer is deferred only for messages that were known when its turn came, so that
//   senders that outpace the code cannot defer it forever.

import { isWrapped, unreadable } from '../../base/codec/transform.ts'
import type { InboxRow } from '../../store/inbox.ts'
import type { OpenTask } from '../../store/tasks.ts'
import type { Execution } from '../replay/execution.ts'
import { readTracedPayload } from '../core/message-trace.ts'
import type { Arrival, Message, Stop } from './arrival.ts'
import { KnownRows } from './known-rows.ts'

// Its text is read once the messages before it are gone.
const UNREAD = { value: undefined, trace: undefined }
const NONE: readonly never[] = []

/** The inbox of one execution, as far as it is in memory. */
export class Inbox {
  readonly #run: Execution
  readonly #execution: number
  readonly #known: KnownRows
  #messages: Map<string, Message[]> | undefined
  #unread: Map<number, Message> | undefined
  #arrivals: Arrival[] = []
  #leftToNext: Arrival[] | undefined
  #stale: number[] | undefined
  #stop: Stop | undefined
  #isUnread = false
  #hasEarlyMail = false

  constructor(run: Execution, execution: number, before?: Inbox) {
    this.#run = run
    this.#execution = execution
    this.#known = before === undefined ? new KnownRows() : before.#known
    if (before === undefined) return
    this.#messages = before.#messages
    this.#unread = before.#unread
    this.#stop = before.#stop
    this.#isUnread = true
    // Results were for the last execution; a cancellation is for the instance.
    this.#arrivals = [...(before.#leftToNext ?? NONE), ...before.#arrivals].filter(
      ({ event }) => event.type === 'cancelled',
    )
  }

  /** What arrived and no turn has taken. */
  get arrivals(): readonly Arrival[] {
    return this.#arrivals
  }

  /** Set when the instance is to end at once. */
  get stop(): Stop | undefined {
    return this.#stop
  }

  get hasMessages(): boolean {
    return this.#messages !== undefined && this.#messages.size > 0
  }

  /** Messages that no turn has taken, by channel in the order they are delivered. */
  get messages(): readonly Message[] {
    return [...(this.#messages?.values() ?? NONE)].flat()
  }

  /** Channels that have messages. */
  get channels(): readonly string[] {
    return [...(this.#messages?.keys() ?? NONE)]
  }

  /** Whether something was sent to the instance before its start was committed. */
  get hasEarlyMail(): boolean {
    return this.#hasEarlyMail
  }

  /** Something was sent before the start was committed: it is read after that. */
  expectEarlyMail(): void {
    this.#hasEarlyMail = true
  }

  /** The inbox of this execution has to be read for the first time. */
  expectMail(): void {
    this.#isUnread = true
  }

  /** Whether it has to be read for the first time. */
  get isUnread(): boolean {
    return this.#isUnread
  }

  /** Whether another inbox continues this one: both know the same rows. */
  isSameAs(other: Inbox): boolean {
    return this.#known === other.#known
  }

  /** Adds something for the next turn. */
  arrive(...arrivals: readonly Arrival[]): void {
    this.#arrivals.push(...arrivals)
  }

  /** The instance ends at once. */
  stopWith(stop: Stop): void {
    this.#stop ??= stop
  }

  /** Adds rows that were read from the store, except those that are known already. */
  receive(rows: readonly InboxRow[], tasks: readonly OpenTask[] = NONE): void {
    this.#isUnread = false
    // One snapshot, and a task is deleted with its result: a result beside a task is not from it.
    const open = new Set(tasks.map(({ command }) => command))
    for (const row of rows) {
      // A row for a later execution is for the owner of that execution.
      if (row.execution > this.#execution) continue
      if (!this.#known.add(row.id)) this.#readValue(row)
      else if (row.kind === 'message') this.#receiveMessage(row)
      else this.#receiveRow(row, row.kind, open)
    }
  }

  /** The inbox is about to be read. Call the result once the rows are added here. */
  reading(): () => void {
    return this.#known.reading()
  }

  /** These rows were deleted by a commit. */
  deleted(rows: readonly number[]): void {
    this.#known.deleted(rows)
  }

  /** Takes all arrivals for a turn. */
  takeArrivals(): readonly Arrival[] {
    const arrivals = this.#arrivals
    this.#arrivals = []
    return arrivals
  }

  /** Puts back arrivals that a turn took and did not use, before those that came meanwhile. */
  putBack(arrivals: readonly Arrival[]): void {
    this.#arrivals = [...arrivals, ...this.#arrivals]
  }

  /** Drops what arrived: it was handed over, or depends on something that is lost. */
  dropArrivals(): void {
    this.#arrivals = []
  }

  /** Keeps an arrival for the next execution. */
  leaveToNext(arrival: Arrival): void {
    ;(this.#leftToNext ??= []).push(arrival)
  }

  /** Rows with results for executions that are over, which only have to be deleted. */
  takeStale(): readonly number[] {
    const stale = this.#stale ?? NONE
    this.#stale = undefined
    return stale
  }

  /** Takes the next message of a channel, with the command that waits for it. */
  takeMessage(
    channel: string,
  ): { readonly command: number; readonly message: Message } | undefined {
    const waiting = this.#messages?.get(channel)
    const message = waiting?.[0]
    // A message that is not read yet is delivered in a later turn.
    if (message?.value === undefined || this.#run.outcome !== undefined) return undefined
    const command = this.#run.receiver(channel)
    if (command === undefined) return undefined
    waiting!.shift()
    if (waiting!.length === 0) this.#messages!.delete(channel)
    return { command, message }
  }

  /** Marks messages that no code waits for, and returns their rows: they no longer wake the instance. */
  park(): readonly number[] {
    const rows: number[] = []
    for (const waiting of this.#messages?.values() ?? NONE) {
      for (const message of waiting) {
        if (message.parked) continue
        message.parked = true
        rows.push(message.inboxId)
      }
    }
    return rows
  }

  /** Whether code waits for a message that is there, with row `last` at most, and is not read yet. */
  awaitsUnread(last = Infinity): boolean {
    const run = this.#run
    if (this.#unread === undefined || this.#unread.size === 0) return false
    if (run.outcome !== undefined) return false
    for (const [channel, [first]] of this.#messages ?? NONE) {
      if (first === undefined || first.value !== undefined || first.inboxId > last) continue
      if (run.receiver(channel) !== undefined) return true
    }
    return false
  }

  /** Like `awaitsUnread`, but also true while the inbox of a new execution has not been read. */
  awaitsMail(last = Infinity): boolean {
    if (!this.#isUnread || this.#run.outcome !== undefined) return this.awaitsUnread(last)
    for (const { event } of this.#run.open.values()) if (event.type === 'receive') return true
    return false
  }

  /** Whether an arrival has to wait for messages that came before it. */
  mustWait({ event, behind }: Arrival): boolean {
    return event.type === 'fired' && this.awaitsMail(behind)
  }

  /** The same timer, for a later turn. */
  deferred(timer: Arrival): Arrival {
    if (timer.behind !== undefined || this.#isUnread) return timer
    let behind = 0
    for (const inboxId of this.#unread?.keys() ?? NONE) behind = Math.max(behind, inboxId)
    return { ...timer, behind }
  }

  /** Whether something arrived that the next turn can take. */
  hasArrivals(): boolean {
    if (this.#arrivals.length === 0) return false
    return !this.awaitsMail() || this.#arrivals.some((arrival) => !this.mustWait(arrival))
  }

  /** Whether something is here for the next turn. */
  hasNews(): boolean {
    if (this.#stop !== undefined || this.#stale !== undefined || this.hasArrivals()) return true
    for (const [channel, waiting] of this.#messages ?? NONE) {
      if (this.#run.receiver(channel) !== undefined && waiting[0]?.value !== undefined) return true
      if (waiting.some((message) => !message.parked)) return true
    }
    return false
  }

  /** Whether a result of this command has arrived. */
  hasResultOf(command: number): boolean {
    return this.#arrivals.some(
      ({ event }) =>
        (event.type === 'completed' || event.type === 'failed') && event.command === command,
    )
  }

  /** The value of a message that was too far behind when it was read first. */
  #readValue({ id, payload }: InboxRow): void {
    const message = payload === null ? undefined : this.#unread?.get(id)
    if (message === undefined) return
    Object.assign(message, readTracedPayload(payload!))
    this.#unread!.delete(id)
  }

  #receiveMessage(row: InboxRow): void {
    const { id: inboxId, name: channel, replyTo, payload, parked } = row
    const sent = payload === null ? UNREAD : readTracedPayload(payload)
    const message: Message = { inboxId, channel, ...sent, replyTo, parked }
    if (payload === null) (this.#unread ??= new Map()).set(inboxId, message)
    const waiting = this.#messages?.get(channel)
    if (waiting === undefined) return void (this.#messages ??= new Map()).set(channel, [message])
    const place = placeOf(message, waiting)
    if (place === waiting.length) waiting.push(message)
    else waiting.splice(place, 0, message)
  }

  #receiveRow(
    row: InboxRow,
    kind: Exclude<InboxRow['kind'], 'message'>,
    tasks: ReadonlySet<number>,
  ): void {
    const { id: inboxId, command } = row
    const payload = row.payload!
    if (isWrapped(payload)) throw unreadable(payload)
    switch (kind) {
      case 'cancel':
        this.#arrivals.push({ event: { type: 'cancelled', reason: payload }, inboxId })
        return
      case 'terminate':
        this.#stop = { status: 'terminated', reason: JSON.parse(payload) as string, inboxId }
        return
      case 'completed':
      case 'failed': {
        if (row.execution < this.#execution) {
          ;(this.#stale ??= []).push(inboxId)
          return
        }
        const event: Arrival['event'] =
          kind === 'completed'
            ? { type: kind, command, value: payload }
            : { type: kind, command, error: payload }
        this.#arrivals.push({
          event,
          inboxId,
          ...(tasks.has(command) && { besideTask: true }),
        })
        return
      }
      default:
        kind satisfies never
        throw new Error(
          `inbox row ${inboxId} has the unknown kind "${String(kind)}"; was it written by a newer version?`,
        )
    }
  }
}

/**
 * Where a message belongs among those of its channel. Rows need not become visible in the order of
 * their numbers, and a store reads the lowest numbers first: so a message that is not read yet comes
 * after all lower ones.
 */
function placeOf({ inboxId }: Message, waiting: readonly Message[]): number {
  let place = waiting.length
  for (; place > 0; place--) {
    const before = waiting[place - 1]!
    if (before.value !== undefined || before.inboxId < inboxId) break
  }
  return place
}
