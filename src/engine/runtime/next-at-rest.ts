import type { Next } from '../../store/commits.ts'
import type { CommandEvent } from '../../store/history.ts'
import { type ActivityWork, deadlineOf, startByOf } from './activity-work.ts'
import { childrenLeft, type Copy, waitsForMail } from './copy.ts'
import { firesAt } from './take-turn.ts'
import { awaitsUnread, hasArrivals } from './unread.ts'

/** An instance that will not wake before this is released; its copy is kept for a while. */
export const REST_MS = 5_000

/** Under which circumstances an instance is looked at. */
export interface Circumstances {
  readonly now: number
  /** All that is at rest is given away. */
  readonly closing: boolean
  /** It has been waiting for mail for a while, or there is little room. */
  readonly impatient: boolean
}

/**
 * What becomes of an instance that has had its turn: it is kept while something of it runs here or
 * comes soon, and released until it wakes otherwise. One that waits for mail is kept for a while.
 */
export function nextAtRest(copy: Copy, { now, closing, impatient }: Circumstances): Next {
  if (hasArrivals(copy) || copy.stop !== undefined) return { kind: 'keep' }
  // What is parked wakes nobody: whoever takes it over has to look.
  if (awaitsUnread(copy)) {
    const leaves = closing && copy.running.size === 0
    return leaves ? { kind: 'release', wakeAt: 0 } : { kind: 'keep' }
  }
  const wakeAt = sleepsUntil(copy, closing)
  if (wakeAt === undefined) return { kind: 'keep' }
  // What owners died with is given back at once: nobody may take it for the cause of the next death.
  if (!closing && !copy.careful) {
    if (wakeAt <= now + REST_MS) return { kind: 'keep' }
    if (!impatient && expectsMail(copy)) return { kind: 'keep' }
  }
  return { kind: 'release', wakeAt: wakeAt === Infinity ? null : wakeAt }
}

/** Whether a message or the end of a child is waited for. */
export function expectsMail(copy: Copy): boolean {
  for (const { event } of copy.run.open.values()) if (waitsForMail(copy, event)) return true
  return false
}

/** When clean-up after a cancellation has to be over; `undefined` when nobody cancelled. */
export function cleanUpUntil({ run, definition }: Copy): number | undefined {
  return run.cancelled && run.cancelled.at + definition.cleanupMs
}

/** When time alone wakes an instance; `undefined` when something of it runs here. */
function sleepsUntil(copy: Copy, closing: boolean): number | undefined {
  if (copy.running.size > 0) return undefined
  let wakeAt = cleanUpUntil(copy) ?? Infinity
  for (const [command, { event, work }] of copy.run.open) {
    if (event.type === 'activity' || event.type === 'step') {
      wakeAt = Math.min(wakeAt, deadlineOf(work as ActivityWork))
      const task = copy.tasks?.get(command)
      if (task !== undefined) {
        if (task.attempts === 0) wakeAt = Math.min(wakeAt, startByOf(work as ActivityWork))
        continue
      }
      const retryAt = copy.attempts.get(command)?.retryAt
      if (retryAt === undefined && !closing) return undefined
      wakeAt = Math.min(wakeAt, retryAt ?? 0)
    } else if (event.type === 'timer' || (waitsForMail(copy, event) && !isUnstarted(copy, event))) {
      wakeAt = Math.min(wakeAt, firesAt(event))
    } else if (closing) {
      // Not carried out yet: whoever takes over does it.
      wakeAt = 0
    } else return undefined
  }
  return wakeAt
}

/** A child that is not known to run: nobody would ever tell of its end. */
function isUnstarted({ children }: Copy, { type, command }: CommandEvent): boolean {
  return type === 'child' && !children.has(command)
}

/** Whether something is there for the next turn of a copy. */
export function hasNews(copy: Copy): boolean {
  const { stop, run, mailbox, reopened, stale } = copy
  if (hasArrivals(copy) || stale.length > 0 || reopened) return true
  if (stop !== undefined || run.broken !== undefined || childrenLeft(copy).length > 0) return true
  for (const [channel, waiting] of mailbox) {
    if (run.receiver(channel) !== undefined && waiting[0]?.value !== undefined) return true
    if (waiting.some((mail) => !mail.parked)) return true
  }
  return false
}
