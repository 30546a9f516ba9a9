import type { Logger } from '../../../base/log.ts'
import { toError } from '../../core/to-error.ts'
import type { ActivityCall } from './activity-call.ts'
import type { AttemptEnd } from './run-attempt.ts'

/** Where attempts are logged, and by which clock the next one is due. */
export interface AttemptLog {
  readonly log: Logger
  /** The store's time. */
  now(): number
}

/**
 * Says that an attempt failed, once, in the process that made it. Call it when its end counts: one
 * that was told to stop says nothing about the activity.
 */
export function logAttempt(host: AttemptLog, call: ActivityCall, end: AttemptEnd): void {
  if (end.kind !== 'retry' && end.kind !== 'failed') return
  const { log } = host
  const { maxAttempts } = call.called.retry
  const keys = { ...call.keys, maxAttempts }
  const err = toError(call.thrown)
  if (end.kind === 'failed') log.warn({ ...keys, err }, 'activity failed; giving up')
  else {
    const nextAttemptAt = new Date(host.now() + end.delayMs)
    log.info({ ...keys, nextAttemptAt, err }, 'activity failed; retrying')
  }
}
