import { resolveBackoff } from '../base/time/backoff.ts'
import type { Clock } from '../base/time/clock.ts'
import { retry } from '../base/time/retry.ts'
import { PermitNotify } from '../base/sync/notify.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import { number, option, resolveOptions } from '../base/options.ts'
import { isRetryableStoreError, StoreError } from '../store/store-error.ts'
import { WakeWait } from '../workers/wake-wait.ts'
import type { OwnDelivery } from './delivery.ts'
import type { ConsumeOptions } from './queue.ts'
import type { QueueCore, QueueSetup } from './queue-core.ts'
import { signalOf } from './wait-options.ts'

// A loop over deliveries.
//
//   - It ends when the caller leaves it, its signal aborts, the queue is closed, or the store fails in a
//     way that a retry cannot help.
//   - Prefetched messages that were not yielded are returned. One whose lease has ended meanwhile is
//     skipped: it will be delivered again, or was already.

/** What loops run on. */
export interface ConsumeSetup<T> extends Pick<QueueSetup<T>, 'clock' | 'log' | 'random'> {
  readonly core: Pick<QueueCore<T>, 'take' | 'giveBack' | 'checkOpen' | 'changes'>
}

const RETRY = resolveBackoff('queue consume', { initial: '100ms', max: '5s' })

/** Deliveries as they come. */
export function consume<T>(
  setup: ConsumeSetup<T>,
  given: ConsumeOptions | undefined,
): AsyncIterable<OwnDelivery<T>> {
  const { concurrency, prefetch, signal } = resolveOptions('queue consume', given, {
    concurrency: option(countOf, Infinity),
    prefetch: number({ min: 0, integer: true }, 0),
    signal: option((value) => signalOf(value, 'queue consume'), undefined),
  })
  return {
    [Symbol.asyncIterator]: () =>
      deliveriesOf(setup, new OpenDeliveries(setup, concurrency), 1 + prefetch, signal),
  }
}

async function* deliveriesOf<T>(
  setup: ConsumeSetup<T>,
  out: OpenDeliveries<T>,
  max: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<OwnDelivery<T>, undefined> {
  const { core, clock } = setup
  let ahead: readonly OwnDelivery<T>[] = []
  try {
    for (;;) {
      await out.waitForRoom(signal)
      ahead = ahead.filter(({ leaseUntil }) => leaseUntil > clock.now())
      if (ahead.length === 0) ahead = await takeSome(setup, max, signal)
      signal?.throwIfAborted()
      const [delivery, ...rest] = ahead as readonly [OwnDelivery<T>, ...OwnDelivery<T>[]]
      ahead = rest
      out.add(delivery)
      yield delivery
    }
  } catch (error) {
    if (signal?.aborted === true && error === signal.reason) return
    if (error instanceof StoreError && error.code === 'closed') return
    throw error
  } finally {
    if (ahead.length > 0) core.giveBack(ahead)
  }
}

/** Waits for messages, and retries while the store is busy or fails. */
async function takeSome<T>(
  { core, clock, log, random }: ConsumeSetup<T>,
  max: number,
  signal: AbortSignal | undefined,
): Promise<readonly OwnDelivery<T>[]> {
  return retry(() => core.take(max, { timeoutMs: Infinity, signal }, max > 1), {
    clock,
    random,
    backoff: RETRY,
    shouldRetry: isRetryableStoreError,
    onRetry: (error, delayMs) =>
      log.warn({ delayMs, err: error }, 'taking messages failed; retrying'),
    // A change of the queue, or its end, may come sooner. The next call throws the reason of the
    // signal.
    wait: (ms) => pause(clock, [core.changes], ms, signal),
  })
}

/** Rests until one of them fires, the time is over or the signal aborts. */
async function pause(
  clock: Clock,
  notifies: readonly PermitNotify[],
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waiting = new WakeWait(clock, notifies, ms)
  const stopListening = signal && onAbort(signal, () => waiting.stop())
  await waiting.ended
  stopListening?.()
}

/** The deliveries of one loop that are not settled and whose leases last. */
class OpenDeliveries<T> {
  readonly #setup: ConsumeSetup<T>
  readonly #max: number
  readonly #deliveries = new Set<OwnDelivery<T>>()
  readonly #settled = new PermitNotify()

  constructor(setup: ConsumeSetup<T>, max: number) {
    this.#setup = setup
    this.#max = max
  }

  add(delivery: OwnDelivery<T>): void {
    if (this.#max === Infinity) return
    this.#deliveries.add(delivery)
    delivery.onSettled(() => {
      this.#deliveries.delete(delivery)
      this.#settled.notifyOne()
    })
  }

  async waitForRoom(signal: AbortSignal | undefined): Promise<void> {
    const { core, clock } = this.#setup
    while (this.#deliveries.size >= this.#max) {
      signal?.throwIfAborted()
      core.checkOpen('consume')
      const ends = [...this.#deliveries].map(({ leaseUntil }) => leaseUntil)
      const leftMs = Math.min(...ends) - clock.now()
      if (leftMs <= 0) this.#dropExpired()
      else if (!this.#settled.takePermit()) {
        // `changes` also fires when the queue is closed.
        await pause(clock, [this.#settled, core.changes], leftMs, signal)
      }
    }
  }

  #dropExpired(): void {
    for (const delivery of this.#deliveries) {
      if (delivery.leaseUntil <= this.#setup.clock.now()) this.#deliveries.delete(delivery)
    }
  }
}

function countOf(value: unknown, what: string): number {
  return value === Infinity ? value : number({ min: 1, integer: true }, 1).check(value, what)
}
