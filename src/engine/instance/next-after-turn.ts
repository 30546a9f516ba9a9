import type { Next } from '../../store/commits.ts'
import type { CommandEvent } from '../../store/history.ts'
import { type ActivityWork, deadlineOf, startByOf } from './activity-work.ts'
import type { LiveInstance } from './live-instance.ts'
import { firesAt } from './turn.ts'

/** An instance that does not wake within this time is released; a runtime may set another one. */
export const REST_MS = 5_000

/** The circumstances of the decision. */
export interface Circumstances {
  readonly now: number
  /** Whether the runtime is closing: everything idle is released. */
  readonly closing: boolean
  /** Whether it has waited for mail for a while, or few slots are free. */
  readonly impatient: boolean
  /** An instance that does not wake within this time is released. */
  readonly restMs: number
}

/**
 * Decides whether to keep an instance after its turn. It is kept while something of it runs here or is
 * due soon; otherwise it is released until it wakes. One that waits for mail is kept for a while.
 */
export function nextAfterTurn(
  instance: LiveInstance,
  { now, closing, impatient, restMs }: Circumstances,
): Next {
  if (instance.inbox.hasArrivals() || instance.inbox.stop !== undefined) return { kind: 'keep' }
  // Parked messages do not wake an instance: its next owner has to look for them.
  if (instance.inbox.awaitsUnread()) {
    const leaves = closing && instance.calls.isIdle
    return leaves ? { kind: 'release', wakeAt: 0 } : { kind: 'keep' }
  }
  const wakeAt = sleepsUntil(instance, closing)
  if (wakeAt === undefined) return { kind: 'keep' }
  // An instance in quarantine is released at once, or it would be blamed for the next death.
  if (!closing && !instance.isQuarantined) {
    if (wakeAt <= now + restMs) return { kind: 'keep' }
    if (!impatient && expectsMail(instance)) return { kind: 'keep' }
  }
  return { kind: 'release', wakeAt: wakeAt === Infinity ? null : wakeAt }
}

/** Whether it waits for a message, the end of a child, or the result of a task. */
export function expectsMail(instance: LiveInstance): boolean {
  for (const { event } of instance.run.open.values())
    if (instance.isAnsweredByMail(event)) return true
  return false
}

/** When clean-up after a cancellation times out; `undefined` when it was not cancelled. */
export function cleanUpUntil({ run, definition }: LiveInstance): number | undefined {
  return run.cancelled && run.cancelled.at + definition.cleanupMs
}

/** When time alone wakes an instance; `undefined` when something of it runs here. */
function sleepsUntil(instance: LiveInstance, closing: boolean): number | undefined {
  if (!instance.calls.isIdle) return undefined
  let wakeAt = cleanUpUntil(instance) ?? Infinity
  for (const [command, { event, work }] of instance.run.open) {
    if (event.type === 'activity' || event.type === 'step') {
      wakeAt = Math.min(wakeAt, deadlineOf(work as ActivityWork))
      const task = instance.calls.task(command)
      if (task !== undefined) {
        if (task.attempts === 0) wakeAt = Math.min(wakeAt, startByOf(work as ActivityWork))
        continue
      }
      const retryAt = instance.calls.retryAt(command)
      if (retryAt === undefined && !closing) return undefined
      wakeAt = Math.min(wakeAt, retryAt ?? 0)
    } else if (
      event.type === 'timer' ||
      (instance.isAnsweredByMail(event) && !isUnstarted(instance, event))
    ) {
      wakeAt = Math.min(wakeAt, firesAt(event))
    } else if (closing) {
      // Not carried out yet: the next owner does it.
      wakeAt = 0
    } else return undefined
  }
  return wakeAt
}

/** A child that is not known to run, and so may never report its end. */
function isUnstarted({ calls }: LiveInstance, { type, command }: CommandEvent): boolean {
  return type === 'child' && calls.child(command) === undefined
}
