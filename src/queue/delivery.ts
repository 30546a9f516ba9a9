import type { Duration } from '../base/time/duration.ts'
import { option, resolveOptions } from '../base/options.ts'
import type { QueueRecord } from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { storedDuration, storedMs } from './durations.ts'
import type { Delivery } from './queue.ts'
import { toReason } from './texts.ts'

/** What a delivery asks of its queue. */
export interface Settler<T> {
  ack(deliveries: readonly OwnDelivery<T>[]): Promise<void>
  nack(delivery: OwnDelivery<T>, delayMs: number | undefined, reason: string): Promise<void>
  extend(delivery: OwnDelivery<T>, ms: number): Promise<void>
  makeDeadLetter(delivery: OwnDelivery<T>, reason: string): Promise<void>
}

/** A message that is leased to a consumer of this queue. */
export class OwnDelivery<T> implements Delivery<T> {
  readonly id: number
  readonly data: T
  readonly attempt: number
  readonly pushedAt: Date
  declare readonly reason?: string
  /** Which delivery of the message this is: no other has it. */
  readonly #receipt: number
  readonly #takenAt: number
  readonly #settler: Settler<T>
  #leaseUntil: number
  #acked: Promise<void> | undefined
  #isNacked = false
  #failedNack: (() => Promise<void>) | undefined
  #onSettled: (() => void) | undefined

  /** Times are those of the queue: when the store was asked for it, and how long the lease is. */
  constructor(
    record: QueueRecord,
    data: T,
    { takenAt, leaseMs }: { readonly takenAt: number; readonly leaseMs: number },
    settler: Settler<T>,
  ) {
    this.id = record.id
    this.data = data
    this.attempt = record.attempt
    this.pushedAt = new Date(record.pushedAt)
    if (record.reason !== '') this.reason = record.reason
    this.#receipt = record.receipt
    this.#settler = settler
    this.#takenAt = takenAt
    // The lease began when the store had the batch, so it does not end before it does here.
    this.#leaseUntil = takenAt + leaseMs
  }

  get takenAt(): number {
    return this.#takenAt
  }

  get leaseUntil(): number {
    return this.#leaseUntil
  }

  get receipt(): number {
    return this.#receipt
  }

  /** Whether it is one of this queue. */
  isOf(settler: Settler<T>): boolean {
    return this.#settler === settler
  }

  /** Whether it was acknowledged or nacked. */
  get isDecided(): boolean {
    return this.#acked !== undefined || this.#isNacked
  }

  /** Calls this when the delivery is acknowledged or nacked. */
  onSettled(call: () => void): void {
    this.#onSettled = call
  }

  /** It is acknowledged or nacked, or lost. */
  settled(): void {
    this.#onSettled?.()
    this.#onSettled = undefined
  }

  ack(): Promise<void> {
    // What failed may be retried.
    this.#acked ??= this.#settler.ack([this]).catch((error: unknown) => {
      this.#acked = undefined
      throw error
    })
    return this.#acked
  }

  async nack(options: { delay?: Duration; reason?: string } = {}): Promise<void> {
    const { delay, reason } = resolveOptions('queue nack', options, {
      delay: storedDuration(undefined),
      reason: option((value) => toReason(String(value)), `nacked in attempt ${this.attempt}`),
    })
    this.#isNacked = true
    await this.#nack(delay, reason)
  }

  /** Repeats the nack, if the store failed. */
  get failedNack(): (() => Promise<void>) | undefined {
    return this.#failedNack
  }

  async #nack(delayMs: number | undefined, reason: string): Promise<void> {
    this.#failedNack = undefined
    try {
      await this.#settler.nack(this, delayMs, reason)
    } catch (error) {
      if (error instanceof StoreError) this.#failedNack = () => this.#nack(delayMs, reason)
      throw error
    }
  }

  /** Makes it a dead letter, whatever attempts it has left. */
  async makeDeadLetter(reason: string): Promise<void> {
    await this.#settler.makeDeadLetter(this, reason)
  }

  async extend(by: Duration): Promise<void> {
    const ms = storedMs(by, 'queue extend: by')
    await this.#settler.extend(this, ms)
    this.#leaseUntil += ms
  }
}
