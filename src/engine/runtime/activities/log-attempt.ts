import { toError } from '../../core/to-error.ts'
import type { ActivityCall } from './activity-call.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { AttemptEnd } from '../../instance/attempt-end.ts'

/**
 * Logs that an attempt failed, once, in the process that made it. Do not call it for an attempt that was
 * aborted: that says nothing about the activity.
 */
export function logAttempt(core: RuntimeCore, call: ActivityCall, end: AttemptEnd): void {
  if (end.kind !== 'retry' && end.kind !== 'failed') return
  const { log, time } = core
  const { maxAttempts } = call.called.retry
  const keys = { ...call.keys, maxAttempts }
  const err = toError(call.thrown)
  if (end.kind === 'failed') log.warn({ ...keys, err }, 'activity failed; giving up')
  else {
    const nextAttemptAt = new Date(time.now() + end.delayMs)
    log.info({ ...keys, nextAttemptAt, err }, 'activity failed; retrying')
  }
}
