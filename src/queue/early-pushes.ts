import { type Clock, sleep } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { PushGroup } from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import type { StoredGroup } from './group-commit.ts'
import { QueueError } from './queue-error.ts'

// Pushes that resolve before they are written (`durability: 'memory'`). Their ids come from blocks
// that are taken out of the sequence beforehand, so that none is used again, also when the process
// ends before its message is written.

const BLOCK = 1_000
/** So many may wait to be written; who pushes more waits himself. */
const MOST_UNWRITTEN = 10_000
const RETRY_MS = 200

/** What it works with. */
export interface EarlyPushesSetup {
  readonly reserve: (count: number) => Promise<number | undefined>
  readonly push: (group: PushGroup) => Promise<StoredGroup>
  readonly clock: Clock
  readonly log: Logger
}

/** Answers pushes at once and writes them shortly after, again and again if need be. */
export class EarlyPushes {
  readonly #setup: EarlyPushesSetup
  /** The rest of the latest block. */
  #free = { next: 0, end: 0 }
  #reserving: Promise<void> = Promise.resolve()
  readonly #writing = new Set<Promise<void>>()
  #unwritten = 0
  #isFinishing = false
  #failure: StoreError | undefined

  constructor(setup: EarlyPushesSetup) {
    this.#setup = setup
  }

  /** How many messages are not written yet. */
  get unwritten(): number {
    return this.#unwritten
  }

  /** Resolves when the messages have their ids. */
  async push(group: PushGroup): Promise<StoredGroup> {
    const count = group.payloads.length
    while (this.#free.end - this.#free.next < count) await this.#reserve(count)
    const firstId = this.#free.next
    this.#free.next += count
    const written = this.#write({ ...group, firstId })
    if (this.#unwritten > MOST_UNWRITTEN) await written
    return { firstId, count }
  }

  /** Resolves when everything pushed so far is written, or given up. */
  async written(): Promise<void> {
    await Promise.all(this.#writing)
  }

  /** Like `written`, but what fails now is not tried again: it is what this rejects with. */
  async finish(): Promise<void> {
    this.#isFinishing = true
    await this.written()
    if (this.#failure !== undefined) throw this.#failure
  }

  // One at a time, in the order of the calls.
  #reserve(count: number): Promise<void> {
    this.#reserving = this.#reserveAfter(this.#reserving, count)
    return this.#reserving
  }

  async #reserveAfter(before: Promise<void>, count: number): Promise<void> {
    await before.catch(() => {})
    if (this.#free.end - this.#free.next >= count) return
    const size = Math.max(BLOCK, count)
    const next = await this.#setup.reserve(size)
    if (next === undefined) {
      throw new QueueError('ids_exhausted', 'queue push: there are no ids left')
    }
    this.#free = { next, end: next + size }
  }

  #write(group: PushGroup): Promise<void> {
    this.#unwritten += group.payloads.length
    const writing = this.#tryToWrite(group).finally(() => {
      this.#unwritten -= group.payloads.length
      this.#writing.delete(writing)
    })
    this.#writing.add(writing)
    return writing
  }

  async #tryToWrite(group: PushGroup): Promise<void> {
    const { push, clock, log } = this.#setup
    for (;;) {
      try {
        await push(group)
        return
      } catch (error) {
        const retryable = error instanceof StoreError && error.retryable
        log.warn({ err: error, retryable }, 'messages that were pushed could not be written')
        if (!retryable || this.#isFinishing) {
          this.#failure ??= error as StoreError
          return
        }
        await sleep(clock, RETRY_MS)
      }
    }
  }
}
