import type { Clock } from '../base/clock.ts'
import { PermitNotify } from '../base/notify.ts'
import { number, option, resolveOptions } from '../base/options.ts'
import { StoreError } from '../store/store-error.ts'
import { Rest } from '../workers/rest.ts'
import type { OwnDelivery } from './delivery.ts'
import type { ConsumeOptions } from './queue.ts'
import type { QueueCore } from './queue-core.ts'
import { signalOf } from './wait-options.ts'

type Source<T> = Pick<QueueCore<T>, 'take' | 'giveBack' | 'checkOpen' | 'news'>

/** Deliveries as they come. */
export function consume<T>(
  core: Source<T>,
  clock: Clock,
  given: ConsumeOptions | undefined,
): AsyncIterable<OwnDelivery<T>> {
  const { concurrency, prefetch, signal } = resolveOptions('queue consume', given, {
    concurrency: option(countOf, Infinity),
    prefetch: number({ min: 0, integer: true }, 0),
    signal: option((value) => signalOf(value, 'queue consume'), undefined),
  })
  return {
    [Symbol.asyncIterator]: () =>
      deliveriesOf(core, new OutAndAbout(core, clock, concurrency), prefetch, signal),
  }
}

async function* deliveriesOf<T>(
  core: Source<T>,
  out: OutAndAbout<T>,
  prefetch: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<OwnDelivery<T>, undefined> {
  let ahead: readonly OwnDelivery<T>[] = []
  try {
    for (;;) {
      await out.untilThereIsRoom(signal)
      if (ahead.length === 0) {
        ahead = await core.take(1 + prefetch, { timeoutMs: Infinity, signal })
      }
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

/** The deliveries of one loop that nobody has settled and whose leases last. */
class OutAndAbout<T> {
  readonly #core: Source<T>
  readonly #clock: Clock
  readonly #most: number
  readonly #deliveries = new Set<OwnDelivery<T>>()
  readonly #settled = new PermitNotify()

  constructor(core: Source<T>, clock: Clock, most: number) {
    this.#core = core
    this.#clock = clock
    this.#most = most
  }

  add(delivery: OwnDelivery<T>): void {
    if (this.#most === Infinity) return
    this.#deliveries.add(delivery)
    delivery.onSettled(() => {
      this.#deliveries.delete(delivery)
      this.#settled.notifyOne()
    })
  }

  async untilThereIsRoom(signal: AbortSignal | undefined): Promise<void> {
    while (this.#deliveries.size >= this.#most) {
      signal?.throwIfAborted()
      this.#core.checkOpen('consume')
      const ends = [...this.#deliveries].map(({ leaseUntil }) => leaseUntil)
      const leftMs = Math.min(...ends) - this.#clock.now()
      if (leftMs <= 0) this.#forgetTheLost()
      else if (!this.#settled.takePermit()) await this.#rest(leftMs, signal)
    }
  }

  // The store's news come when the queue is closed, too.
  async #rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const rest = new Rest(this.#clock, [this.#settled, this.#core.news], ms)
    const stop = (): void => rest.stop()
    signal?.addEventListener('abort', stop, { once: true })
    await rest.ended
    signal?.removeEventListener('abort', stop)
  }

  #forgetTheLost(): void {
    for (const delivery of this.#deliveries) {
      if (delivery.leaseUntil <= this.#clock.now()) this.#deliveries.delete(delivery)
    }
  }
}

function countOf(value: unknown, what: string): number {
  return value === Infinity ? value : number({ min: 1, integer: true }, 1).check(value, what)
}
