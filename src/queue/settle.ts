import { resolveBackoff } from '../base/time/backoff.ts'
import { retry } from '../base/time/retry.ts'
import { isRetryableStoreError } from '../store/store-error.ts'
import type { OwnDelivery } from './delivery.ts'
import type { QueueSetup } from './queue-core.ts'
import { QueueError } from './queue-error.ts'

// How a handler's message is acknowledged or nacked once the handler has ended.
//
//   - While the store fails, this retries: work that is done must not be done twice
//     because its acknowledgement met a busy file. It may succeed after the end of the lease, as
//     long as the message was not delivered again.
//   - It ends when the store has judged, the error is final, or the handlers have to end.

const RETRY = resolveBackoff('queue handle', { initial: '50ms', max: '5s' })

/** What it needs. */
export type SettleSetup<T> = Pick<QueueSetup<T>, 'clock' | 'log' | 'random'>

/** Does it, again if need be, until it is done or cannot be done any more. */
export async function settle<T>(
  { clock, log, random }: SettleSetup<T>,
  { id, attempt }: OwnDelivery<T>,
  action: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    await retry(action, {
      clock,
      random,
      signal,
      backoff: RETRY,
      shouldRetry: isRetryableStoreError,
      onRetry: (error, delayMs) => {
        const words = 'acknowledging or nacking a handled message failed; retrying'
        log.warn({ id, attempt, delayMs, err: error }, words)
      },
    })
  } catch (error) {
    if (!(error instanceof QueueError)) throw error
    // No fault of the loop.
    log.warn(
      { id, attempt, err: error },
      'message handled after its lease ended; another delivery may handle it again',
    )
  }
}
