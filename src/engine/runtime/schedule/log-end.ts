import type { Logger } from '../../../base/log.ts'
import { toError } from '../../core/to-error.ts'
import type { Ending } from '../../../store/instances.ts'
import { instanceKeys } from '../../core/log-keys.ts'
import type { Values } from '../../core/values.ts'
import type { LiveInstance } from '../../instance/live-instance.ts'

/** Logs how an instance ended, unless it completed. Call it once its end is committed. */
export function logEnd(
  { log, values }: { readonly log: Logger; readonly values: Values },
  instance: LiveInstance,
  end: Ending,
): void {
  const keys = instanceKeys(instance)
  for (const thrown of instance.run.unhandledRejections.values()) {
    log.warn({ ...keys, err: toError(thrown) }, 'unhandled rejection in workflow code')
  }
  switch (end.status) {
    case 'completed':
      return
    case 'failed':
      return log.error({ ...keys, err: thrownBy(instance, end, values) }, 'workflow failed')
    case 'cancelled':
      return log.info(
        { ...keys, reason: instance.inbox.stop?.reason ?? instance.run.cancelled?.reason },
        'workflow cancelled',
      )
    // By a parent that closes its children: terminate() logs for itself, where it is called.
    case 'terminated':
      return log.info({ ...keys, reason: instance.inbox.stop?.reason }, 'workflow terminated')
  }
}

/** Logs that an instance cannot continue and is suspended. Call it once that is committed. */
export function logSuspended(log: Logger, keys: object, err: unknown): void {
  log.error({ ...keys, err }, 'instance suspended; resume it once the cause is fixed')
}

/** What the code threw, with its own stack; or why its result could not be stored. */
function thrownBy({ run: { outcome } }: LiveInstance, { output }: Ending, values: Values): Error {
  return outcome?.kind === 'threw' ? toError(outcome.error) : values.error(output)
}
