import { backoffMs } from '../base/time/backoff.ts'
import { describe } from '../base/describe.ts'
import { TimeoutError } from '../base/errors.ts'
import { onAbort } from '../base/sync/on-abort.ts'
import { number, resolveOptions } from '../base/options.ts'
import type { ChangeVerdict, QueueState } from '../store/queue-store.ts'
import type { Supervisor } from '../workers/supervisor.ts'
import { consume } from './consume.ts'
import { deadLetters } from './dead-letters.ts'
import { OwnDelivery, type Settler } from './delivery.ts'
import { type Handler, startHandlers } from './handle.ts'
import { checkCount, checkId, checkIds } from './ids.ts'
import { fromPayload, isForeign, toPayload } from './payloads.ts'
import { pushOf } from './push-options.ts'
import type {
  ConsumeOptions,
  Counts,
  DeadLetters,
  Delivery,
  PushOptions,
  Queue,
  Stored,
  Wait,
} from './queue.ts'
import { QueueCore, type QueueSetup, type Unreadable } from './queue-core.ts'
import { notInFlight, unreadable } from './queue-error.ts'
import { toStored } from './records.ts'
import { waitOf } from './wait-options.ts'

const takeWait = waitOf('queue take')
const takeManyWait = waitOf('queue takeMany')
const drainWait = waitOf('queue drain')

/** Opens a queue on a store. */
export async function openDurableQueue<T>(setup: QueueSetup<T>): Promise<DurableQueue<T>> {
  try {
    const queue = new DurableQueue(setup, await setup.store.open(setup.maxAttempts))
    if (!setup.lazy) await queue.readAll()
    return queue
  } catch (error) {
    await setup.store.close().catch(() => {})
    throw error
  }
}

/** A queue on a store: checks arguments and turns verdicts into results and errors. */
export class DurableQueue<T> implements Queue<T>, Settler<T> {
  readonly dead: DeadLetters<T>
  readonly #setup: QueueSetup<T>
  readonly #core: QueueCore<T>
  readonly #handlers = new Set<Supervisor>()
  #closing: Promise<void> | undefined

  constructor(setup: QueueSetup<T>, queueState: QueueState) {
    this.#setup = setup
    this.#core = new QueueCore(setup, queueState, this)
    this.dead = deadLetters(setup, this.#core)
  }

  async push(data: T, options?: PushOptions): Promise<number> {
    this.#core.checkOpen('push')
    const payloads = [toPayload(this.#setup.codec, data)]
    return (await this.#core.push(pushOf(payloads, options, this.#setup))).firstId
  }

  async pushMany(items: readonly T[], options?: PushOptions): Promise<readonly number[]> {
    this.#core.checkOpen('pushMany')
    const { codec, capacity } = this.#setup
    if (!Array.isArray(items)) {
      throw new TypeError(`queue pushMany: items must be a list, got ${describe(items)}`)
    }
    if (items.length > capacity) {
      const limit = `the queue's capacity of ${capacity}`
      throw new RangeError(`queue pushMany: items must not exceed ${limit}, got ${items.length}`)
    }
    // Not map(), which passes over holes.
    const payloads = Array.from(items as readonly T[], (item) => toPayload(codec, item))
    const push = pushOf(payloads, options, this.#setup)
    if (payloads.length === 0) return []
    const { firstId, count } = await this.#core.push(push)
    return Array.from({ length: count }, (_, i) => firstId + i)
  }

  async get(id: number): Promise<Stored<T> | undefined> {
    const record = await this.#core.find(checkId('queue get', id))
    if (record === undefined) return undefined
    const stored = toStored(this.#setup.codec, record)
    if (stored.error !== undefined) throw stored.error
    return stored
  }

  async take(options?: Wait): Promise<Delivery<T> | undefined> {
    const [delivery] = await this.#core.take(1, takeWait(options))
    return delivery
  }

  async takeMany(max: number, options?: Wait): Promise<readonly Delivery<T>[]> {
    const count = checkCount('queue takeMany', max)
    return this.#core.take(count, takeManyWait(options))
  }

  async ack(deliveries: readonly Delivery<T>[]): Promise<void> {
    this.#core.checkOpen('ack')
    const own = deliveries.map((delivery) => this.#own(delivery))
    const verdicts = await this.#core.change('ack', own)
    own.forEach((delivery, i) => this.#settled(delivery, verdicts[i]!))
    const lost = verdicts.indexOf('superseded')
    if (lost >= 0) throw notInFlight('ack', own[lost]!.id, 'superseded')
  }

  async nack(delivery: OwnDelivery<T>, delayMs: number | undefined, reason: string): Promise<void> {
    const { nackBackoff, random } = this.#setup
    const ms = delayMs ?? backoffMs(nackBackoff, delivery.attempt, random)
    await this.#settle('nack', delivery, ms, reason)
  }

  async makeDeadLetter(delivery: OwnDelivery<T>, reason: string): Promise<void> {
    await this.#settle('dead_letter', delivery, 0, reason)
  }

  async extend(delivery: OwnDelivery<T>, ms: number): Promise<void> {
    this.#core.checkOpen('extend')
    const [verdict] = await this.#core.change('extend', [delivery], ms)
    if (verdict !== 'done') this.#lost('extend', delivery, verdict!)
  }

  consume(options?: ConsumeOptions): AsyncIterable<Delivery<T>> {
    return consume({ ...this.#setup, core: this.#core }, options)
  }

  handle(run: Handler<T>, options?: { concurrency?: number }): AsyncDisposable {
    this.#core.checkOpen('handle')
    const { concurrency } = resolveOptions('queue handle', options, {
      concurrency: number({ min: 1, integer: true }, 1),
    })
    if (typeof run !== 'function') {
      throw new TypeError(`queue handle: run must be a function, got ${describe(run)}`)
    }
    const handlers = startHandlers({ ...this.#setup, core: this.#core }, run, concurrency)
    this.#handlers.add(handlers)
    return {
      [Symbol.asyncDispose]: async () => {
        await handlers.stop()
        // Not before: close() has to wait for them, too.
        this.#handlers.delete(handlers)
      },
    }
  }

  async remove(ids: readonly number[]): Promise<number> {
    return this.#core.changeAll('remove', checkIds('queue remove', ids))
  }

  get counts(): Counts {
    const { ready, inFlight, delayed, dead } = this.#core.counts
    return { total: ready + inFlight + delayed + dead, ready, inFlight, delayed, dead }
  }

  get isEmpty(): boolean {
    return this.counts.total === 0
  }

  async drain(options?: Wait): Promise<void> {
    this.#core.checkOpen('drain')
    const { timeoutMs, signal } = drainWait(options)
    const limit = new AbortController()
    const giveUp = (): void => {
      const message = `queue drain: ${this.#core.live} messages are left after ${timeoutMs} ms`
      limit.abort(new TimeoutError(message, timeoutMs!))
    }
    const timer = timeoutMs === undefined ? undefined : this.#setup.clock.after(timeoutMs, giveUp)
    // Not AbortSignal.any: the caller's signal would remember every call.
    const stopListening = signal && onAbort(signal, () => limit.abort(signal.reason))
    try {
      await this.#core.drained(limit.signal)
    } finally {
      timer?.cancel()
      stopListening?.()
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Stored<T>, undefined> {
    for await (const page of this.#core.pages()) {
      for (const record of page) yield toStored(this.#setup.codec, record)
    }
  }

  /** Reads every message once; what cannot be decoded becomes a dead letter. */
  async readAll(): Promise<void> {
    const { codec } = this.#setup
    for await (const page of this.#core.pages()) {
      const bad: Unreadable[] = []
      for (const record of page) {
        // The consumer of a message in flight finds out by itself, and what another codec wrote is for
        // that codec to read.
        if (record.state === 'dead' || record.state === 'in_flight') continue
        if (isForeign(codec, record)) continue
        try {
          fromPayload(codec, record)
        } catch (cause) {
          bad.push({ record, error: unreadable(record.id, cause) })
        }
      }
      await this.#core.makeDeadLetter(bad)
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    // Handlers in the middle of a message may still settle it, and push.
    if (this.#handlers.size > 0) {
      await Promise.all([...this.#handlers].map((handlers) => handlers.stop()))
    }
    await this.#core.close()
  }

  async #settle(
    kind: 'nack' | 'dead_letter',
    delivery: OwnDelivery<T>,
    ms: number,
    reason: string,
  ): Promise<void> {
    this.#core.checkOpen(kind)
    const [verdict] = await this.#core.change(kind, [delivery], Math.ceil(ms), reason)
    if (verdict !== 'done') this.#lost(kind, delivery, verdict!)
    this.#settled(delivery, verdict)
  }

  #settled(delivery: OwnDelivery<T>, verdict: ChangeVerdict): void {
    const { meter, clock } = this.#setup
    if (verdict === 'done') meter?.wasInFlight(clock.now() - delivery.takenAt)
    delivery.settled()
  }

  #lost(
    operation: string,
    delivery: OwnDelivery<T>,
    verdict: Exclude<ChangeVerdict, 'done'>,
  ): never {
    delivery.settled()
    throw notInFlight(operation, delivery.id, verdict)
  }

  #own(delivery: Delivery<T>): OwnDelivery<T> {
    if (delivery instanceof OwnDelivery && delivery.isOf(this)) return delivery as OwnDelivery<T>
    throw new TypeError(`queue ack: expected deliveries of this queue, got ${describe(delivery)}`)
  }
}
