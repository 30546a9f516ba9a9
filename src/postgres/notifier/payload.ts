// The payload of a notification: JSON. Procedures write some of them: see `tell_work.sql` and
// `tell_tasks.sql`. Every role that can connect can send one, so nothing in it is trusted.

import type { Iid } from '../../store/instances.ts'
import type { TaskKey } from '../../store/tasks.ts'
import type { Hint, Announcement } from '../../store/hints.ts'

// The server takes less than 8000 bytes.
const MAX_BYTES = 7_000

/** A notification to every listener, or to one. */
export interface Notification {
  readonly to: string
  readonly payload: string
}

/** The recipient that means every listener. */
export const ALL_LISTENERS = 'all'

/** The test notification of a listener, which it sends to itself. */
export interface TestNotification {
  readonly kind: 'trial'
  readonly token: string
}

/** A payload that was read, and the listener that sent it, if one did. */
export interface Received {
  readonly hint: Hint | TestNotification
  readonly from: string
}

/** Announcements whose recipients can be named without a query. */
export type DirectAnnouncement =
  | Exclude<Announcement, { kind: 'mail' | 'due' | 'tasks' }>
  | { kind: 'joined' }

/** The notifications for a hint: several when one would be too long. `from` is the sender. */
export function notificationsFor(announcement: DirectAnnouncement, from: string): Notification[] {
  switch (announcement.kind) {
    case 'freed':
      return [notification(ALL_LISTENERS, { kind: 'work', iids: [], at: 0, from })]
    // For every instance, due since a time long past.
    case 'overflow':
      return [notification(ALL_LISTENERS, { kind: 'work', iids: [], at: 1, from })]
    case 'joined':
      return [notification(ALL_LISTENERS, { kind: 'joined', from })]
    case 'recalled':
      return chunks(announcement.iids).map((iids) =>
        notification(ALL_LISTENERS, { kind: 'recalled', iids, from }),
      )
    case 'waiting':
      return chunks(announcement.iids).map((iids) =>
        notification(ALL_LISTENERS, { kind: 'waiting', iids, to: from, from }),
      )
    case 'changed':
      return chunks(announcement.iids).map((iids) =>
        notification(announcement.to, { kind: 'changed', iids, from }),
      )
    case 'dropped':
      return chunks(announcement.tasks.flatMap(keyNumbers)).map((tasks) =>
        notification(ALL_LISTENERS, { kind: 'dropped', tasks, from }),
      )
  }
}

/** The notification by which a listener tests whether notifications arrive. */
export function testNotification(listener: string, token: string): Notification {
  return notification(listener, { kind: 'trial', token, from: listener })
}

function notification(to: string, content: object): Notification {
  return { to, payload: JSON.stringify(content) }
}

function keyNumbers({ iid, execution, command }: TaskKey): number[] {
  return [iid, execution, command]
}

/** Lists short enough for one payload each; a task is three numbers, which stay together. */
function chunks(numbers: readonly number[]): number[][] {
  // A number and its comma take at most 17 bytes.
  const max = Math.floor(MAX_BYTES / 17 / 3) * 3
  const lists: number[][] = []
  for (let at = 0; at < numbers.length; at += max) lists.push(numbers.slice(at, at + max))
  return lists
}

const ANYTHING: Received = { hint: { kind: 'work', iids: [], at: 0 }, from: '' }

/** Reads a payload. An invalid one, or one of a newer version, counts as a hint to poll. */
export function readPayload(payload: string): Received {
  let content: unknown
  try {
    content = JSON.parse(payload)
  } catch {
    return ANYTHING
  }
  if (typeof content !== 'object' || content === null) return ANYTHING
  const given = content as Readonly<Record<string, unknown>>
  const hint = hintOf(given)
  if (hint === undefined) return ANYTHING
  return { hint, from: typeof given['from'] === 'string' ? given['from'] : '' }
}

function hintOf(given: Readonly<Record<string, unknown>>): Hint | TestNotification | undefined {
  const { kind, at, to, token } = given
  switch (kind) {
    case 'work': {
      const iids = numbersOf(given['iids'])
      return iids && { kind, iids, at: isNatural(at) ? at : 0 }
    }
    case 'tasks': {
      const activities = given['activities']
      return Array.isArray(activities) && activities.every((name) => typeof name === 'string')
        ? { kind, activities, at: 0 }
        : undefined
    }
    case 'dropped': {
      const numbers = numbersOf(given['tasks'])
      return numbers && { kind, tasks: keysOf(numbers) }
    }
    case 'waiting': {
      const iids = numbersOf(given['iids'])
      return iids && isListener(to) ? { kind, iids, to } : undefined
    }
    case 'recalled':
    case 'changed': {
      const iids = numbersOf(given['iids'])
      // An empty list would mean every instance that is waited for; it is never sent.
      return iids && iids.length > 0 ? { kind, iids } : undefined
    }
    case 'joined':
      return { kind }
    case 'messages': {
      const partitions = numbersOf(given['partitions'])
      return partitions && { kind, partitions, at: isNatural(at) ? at : 0 }
    }
    case 'trial':
      return typeof token === 'string' ? { kind, token } : undefined
    default:
      return undefined
  }
}

function keysOf(numbers: readonly number[]): TaskKey[] {
  const keys: TaskKey[] = []
  for (let i = 0; i + 2 < numbers.length; i += 3) {
    keys.push({ iid: numbers[i]!, execution: numbers[i + 1]!, command: numbers[i + 2]! })
  }
  return keys
}

function numbersOf(value: unknown): readonly Iid[] | undefined {
  return Array.isArray(value) && value.every(isNatural) ? value : undefined
}

/** The server would reject any other number as the id of an instance. */
function isNatural(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** Names of listeners are short: a channel name is limited. */
function isListener(value: unknown): value is string {
  return typeof value === 'string' && /^\w{1,32}$/.test(value)
}
