import type { Loaded } from '../../store/claims.ts'
import type { TurnRow } from '../../store/commits.ts'
import { type Event, readEvents } from '../../store/history.ts'
import type { InboxRow } from '../../store/inbox.ts'
import type { OpenTask } from '../../store/tasks.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'
import type { Execution } from '../replay/execution.ts'
import {
  type Arrival,
  type LiveInstance,
  instanceOf,
  type Mail,
  type Stop,
} from './live-instance.ts'

/** A copy of an instance that was read; with an error when its history cannot be understood. */
export function readInstance(
  loaded: Loaded,
  definition: WorkflowDefinition,
  run: Execution,
): { readonly instance: LiveInstance; readonly error?: unknown } {
  try {
    const past = loaded.history.map(readTurn)
    const [started] = past[0]?.events ?? []
    if (started?.type !== 'started') throw new Error('history: it does not begin with "started"')
    return { instance: instanceOf(loaded, definition, run, past, started) }
  } catch (error) {
    const instance = instanceOf(loaded, definition, run, [], NOTHING)
    // It is recorded, whatever its history says.
    instance.turn = Math.max(1, instance.turn)
    return { instance, error }
  }
}

const NOTHING = { input: '', seed: '', parentId: '', state: '' }

/** The events of a turn; an error says which turn it is. */
export function readTurn({ execution, turn, at, events }: TurnRow): {
  at: number
  events: Event[]
} {
  try {
    return { at, events: readEvents(events) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`turn ${turn} of execution ${execution} cannot be read: ${reason}`, {
      cause: error,
    })
  }
}

/** Takes what waits in the inbox of an instance over into its copy, unless it is known there. */
export function takeInbox(
  instance: LiveInstance,
  inbox: readonly InboxRow[],
  tasks: readonly OpenTask[] = [],
): void {
  // One snapshot, and a task goes with its result (K4): what is beside a task is not from it.
  const open = new Set(tasks.map(({ command }) => command))
  for (const row of inbox) {
    // One for a later execution is for whoever owns that.
    if (row.execution > instance.execution) continue
    if (!instance.known.add(row.id)) readValue(instance, row)
    else if (row.kind === 'message') takeMessage(instance, row)
    else takeRow(instance, row, row.payload!, open)
  }
}

/** The value of a message that was too far behind when it was read first. */
function readValue(instance: LiveInstance, { id, payload }: InboxRow): void {
  const mail = payload === null ? undefined : instance.unread?.get(id)
  if (mail === undefined) return
  mail.value = payload!
  instance.unread!.delete(id)
}

function takeMessage(instance: LiveInstance, row: InboxRow): void {
  const { id: inboxId, name: channel, replyTo, payload, parked } = row
  const mail: Mail = { inboxId, channel, value: payload ?? undefined, replyTo, parked }
  if (payload === null) (instance.unread ??= new Map()).set(inboxId, mail)
  const waiting = instance.mailbox.get(channel)
  if (waiting === undefined) return void instance.mailbox.set(channel, [mail])
  const place = placeOf(mail, waiting)
  if (place === waiting.length) waiting.push(mail)
  else waiting.splice(place, 0, mail)
}

/**
 * Where a message is put among those of its channel. The last number need not be the last to be seen,
 * and a store reads the lowest numbers first: so one that is not read yet comes after all lower ones.
 */
function placeOf({ inboxId }: Mail, waiting: readonly Mail[]): number {
  let place = waiting.length
  for (; place > 0; place--) {
    const before = waiting[place - 1]!
    if (before.value !== undefined || before.inboxId < inboxId) break
  }
  return place
}

function takeRow(
  instance: LiveInstance,
  row: InboxRow,
  payload: string,
  tasks: ReadonlySet<number>,
): void {
  const { id: inboxId, kind, command } = row
  switch (kind) {
    case 'message':
      return takeMessage(instance, row)
    case 'cancel':
      instance.arrivals.push({ event: { type: 'cancelled', reason: payload }, inboxId })
      return
    case 'terminate':
      instance.stop = { status: 'terminated', reason: JSON.parse(payload) as string, inboxId }
      return
    case 'completed':
    case 'failed': {
      if (row.execution < instance.execution) {
        instance.stale.push(inboxId)
        return
      }
      const event: Arrival['event'] =
        kind === 'completed'
          ? { type: kind, command, value: payload }
          : { type: kind, command, error: payload }
      instance.arrivals.push({ event, inboxId, ...(tasks.has(command) && { besideTask: true }) })
      return
    }
    default:
      kind satisfies never
      throw new Error(
        `row ${inboxId} of the inbox is of unknown kind "${String(kind)}"; was it written by a newer version?`,
      )
  }
}

/** An instance that was cancelled before any of its code ran has nothing to clean up. */
export function calledOffBeforeItRan({
  execution,
  past,
  arrivals,
}: LiveInstance): Stop | undefined {
  if (execution > 1 || past?.length !== 1 || past[0]!.events.length !== 1) return undefined
  for (const { event, inboxId } of arrivals) {
    if (event.type !== 'cancelled') continue
    const reason = JSON.parse(event.reason) as string
    return { status: 'cancelled', reason, ...(inboxId !== undefined && { inboxId }) }
  }
  return undefined
}
