import { backoffMs } from '../base/time/backoff.ts'
import { isRetryable } from '../base/errors.ts'
import { PermitNotify } from '../base/sync/notify.ts'
import { StoreError } from '../store/store-error.ts'
import { type Directive, idle, proceed } from '../workers/directive.ts'
import { supervise, type Supervisor } from '../workers/supervisor.ts'
import { type PassContext, worker } from '../workers/worker.ts'
import type { OwnDelivery } from './delivery.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { Delivery, HandleContext } from './queue.ts'
import type { QueueCore, QueueSetup } from './queue-core.ts'
import { settle } from './settle.ts'
import { reasonOf } from './texts.ts'

/** What handlers run on. */
export interface HandleSetup<T> extends QueueSetup<T> {
  readonly core: Pick<QueueCore<T>, 'take' | 'giveBack'>
}

/** What is called with each message. */
export type Handler<T> = (delivery: Delivery<T>, ctx: HandleContext) => Promise<unknown>

const FLAT_OUT = { min: 0, active: 0, step: 0 }

/**
 * Starts workers that take one message at a time, as many as are to be handled at once. What they
 * take and acknowledge at the same time shares its commits.
 */
export function startHandlers<T>(
  setup: HandleSetup<T>,
  run: Handler<T>,
  concurrency: number,
): Supervisor {
  const { name, clock, log } = setup
  const workers = Array.from({ length: concurrency }, (_, i) => {
    const begin = new PermitNotify()
    begin.notifyOne()
    return worker(
      `queue "${name}" handler ${i + 1}`,
      { wakeOn: [begin], pacing: FLAT_OUT, clock, log },
      (ctx) => pass(setup, run, ctx),
    )
  })
  return supervise(workers, { log, clock })
}

async function pass<T>(
  setup: HandleSetup<T>,
  run: Handler<T>,
  { signal, stopping }: PassContext,
): Promise<Directive> {
  const delivery = await nextDelivery(setup, stopping)
  if (delivery === undefined) return idle()
  if (stopping.aborted) {
    setup.core.giveBack([delivery])
    return idle()
  }
  await handleOne(setup, run, delivery, signal)
  return proceed()
}

/** `undefined` when the worker is to stop, or the queue was closed. */
async function nextDelivery<T>(
  { core }: HandleSetup<T>,
  stopping: AbortSignal,
): Promise<OwnDelivery<T> | undefined> {
  try {
    const [delivery] = await core.take(1, { timeoutMs: Infinity, signal: stopping })
    return delivery
  } catch (error) {
    if (stopping.aborted || (error instanceof StoreError && error.code === 'closed')) {
      return undefined
    }
    throw error
  }
}

async function handleOne<T>(
  setup: HandleSetup<T>,
  run: Handler<T>,
  delivery: OwnDelivery<T>,
  signal: AbortSignal,
): Promise<void> {
  const hold = new LeaseKeeper(setup, delivery, signal)
  let own = (): Promise<void> => delivery.ack()
  try {
    await run(delivery, {
      get signal() {
        return hold.signal
      },
    })
  } catch (error) {
    if (!delivery.isDecided) own = afterFailure(setup, delivery, error)
  } finally {
    hold.end()
  }
  // What the handler decided itself goes first; of that only a nack that failed is left to do.
  const action = delivery.isDecided ? delivery.failedNack : own
  if (action !== undefined) await settle(setup, delivery, action, signal)
}

/** What becomes of a message whose handler threw. */
function afterFailure<T>(
  { handlerBackoff, maxAttempts, random, log }: HandleSetup<T>,
  delivery: OwnDelivery<T>,
  error: unknown,
): () => Promise<void> {
  const { id, attempt } = delivery
  const reason = reasonOf(error)
  if (!isRetryable(error)) {
    log.warn(
      { id, attempt, err: error },
      'handler failed with an error that is not retryable; the message becomes a dead letter',
    )
    return () => delivery.makeDeadLetter(reason)
  }
  if (attempt >= maxAttempts) {
    const words = 'handler failed in the last attempt; the message becomes a dead letter'
    log.warn({ id, attempt, err: error }, words)
    return () => delivery.nack({ reason })
  }
  const delayMs = Math.ceil(backoffMs(handlerBackoff, attempt, random))
  log.warn({ id, attempt, delayMs, err: error }, 'handler failed; the message is delivered again')
  return () => delivery.nack({ delay: delayMs, reason })
}
