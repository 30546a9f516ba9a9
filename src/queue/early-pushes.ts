import { type Clock, sleep } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { PushGroup } from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { lengthOf, MOST_ITEMS, MOST_LENGTH, type StoredGroup } from './push-line.ts'
import type { Push } from './push-options.ts'
import { QueueError } from './queue-error.ts'

// Pushes that resolve before they are written (`durability: 'memory'`), and those of other levels
// that come between them. Their ids come from blocks
// that are taken out of the sequence beforehand, so that none is used again, also when the process
// ends before its message is written.
//
//   E1. Ids grow in the order of the calls, and messages are written in it. One that has to be written
//       before it is answered (it is of another level, or the store has to judge it first, since it
//       has a dedupe key or a delay) waits for all before it, and all after it wait for it: the rest
//       of a block that is older than its id is given up.
//   E2. Writes go out one after the other and are tried again until they succeed, so that a failure
//       does not change the order either.

const BLOCK = 1_000
/** So many may wait to be written; who pushes more waits himself. */
const MOST_UNWRITTEN = 10_000
const RETRY_MS = 200

/** What it works with. */
export interface EarlyPushesSetup {
  readonly reserve: (count: number) => Promise<number | undefined>
  readonly push: (push: Push) => Promise<StoredGroup>
  /** Writes several groups that have their ids, all of them or none. */
  readonly pushAll: (groups: readonly PushGroup[]) => Promise<unknown>
  readonly clock: Clock
  readonly log: Logger
}

/** Somebody who cannot be answered at once. */
interface Waiting extends Push {
  readonly resolve: (stored: StoredGroup | Promise<StoredGroup>) => void
  readonly reject: (error: unknown) => void
}

/** Answers pushes at once and writes them shortly after, again and again if need be. */
export class EarlyPushes {
  readonly #setup: EarlyPushesSetup
  /** Who waits for ids, or for others, in the order of the calls. */
  readonly #line: Waiting[] = []
  /** The rest of the latest block. */
  #free = { next: 0, end: 0 }
  #isReserving = false
  /** How many are being written before they are answered. */
  #underWay = 0
  readonly #unwritten: PushGroup[] = []
  #unwrittenItems = 0
  /** How many groups were ever accepted, how many of those written, and who waits for which. */
  #accepted = 0
  #written = 0
  readonly #whenWritten: { readonly upTo: number; readonly resolve: () => void }[] = []
  #isWriting = false
  #isFinishing = false
  #failure: StoreError | undefined
  #whenDone: (() => void) | undefined

  constructor(setup: EarlyPushesSetup) {
    this.#setup = setup
  }

  /** How many messages have their ids and are not written yet. */
  get unwritten(): number {
    return this.#unwrittenItems
  }

  /** Resolves when the messages have their ids. */
  push({ group, durability }: Push): Promise<StoredGroup> {
    return new Promise((resolve, reject) => {
      this.#line.push({ group, durability, resolve, reject })
      if (this.#line.length === 1) this.#advance()
    })
  }

  /** Resolves when everything that has its ids so far is written, or given up. */
  async written(): Promise<void> {
    const upTo = this.#accepted
    if (this.#written === upTo) return
    await new Promise<void>((resolve) => this.#whenWritten.push({ upTo, resolve }))
  }

  /** Waits for all; what fails now is not tried again: it is what this rejects with. */
  async finish(): Promise<void> {
    this.#isFinishing = true
    if (!this.#isDone) await new Promise<void>((resolve) => (this.#whenDone = resolve))
    if (this.#failure !== undefined) throw this.#failure
  }

  get #isDone(): boolean {
    return this.#line.length === 0 && this.#underWay === 0 && this.#unwritten.length === 0
  }

  /** Lets through whoever need not wait any longer. */
  #advance(): void {
    let passed = 0
    while (passed < this.#line.length && this.#letThrough(this.#line[passed]!)) passed++
    this.#line.splice(0, passed)
    if (this.#isDone) this.#whenDone?.()
  }

  #letThrough(waiting: Waiting): boolean {
    const { group, resolve } = waiting
    if (mustBeWrittenFirst(waiting)) {
      if (this.#unwritten.length > 0) return false
      resolve(this.#writeFirst(waiting))
      return true
    }
    if (this.#underWay > 0 || this.#isReserving) return false
    const count = group.payloads.length
    if (this.#free.end - this.#free.next < count) {
      void this.#reserve(count)
      return false
    }
    resolve(this.#accept(group))
    return true
  }

  async #writeFirst(push: Push): Promise<StoredGroup> {
    this.#free = { next: 0, end: 0 }
    this.#underWay++
    try {
      return await this.#setup.push(push)
    } finally {
      this.#underWay--
      this.#advance()
    }
  }

  // For the first in line.
  async #reserve(count: number): Promise<void> {
    this.#isReserving = true
    const size = Math.max(BLOCK, count)
    try {
      const next = await this.#setup.reserve(size)
      if (next === undefined) {
        throw new QueueError('ids_exhausted', 'queue push: there are no ids left')
      }
      this.#free = { next, end: next + size }
    } catch (error) {
      this.#line.shift()!.reject(error)
    }
    this.#isReserving = false
    this.#advance()
  }

  #accept(group: PushGroup): StoredGroup | Promise<StoredGroup> {
    const stored = { firstId: this.#free.next, count: group.payloads.length }
    this.#free.next += stored.count
    this.#unwritten.push({ ...group, firstId: stored.firstId })
    this.#unwrittenItems += stored.count
    this.#accepted++
    if (!this.#isWriting) void this.#write()
    return this.#unwrittenItems > MOST_UNWRITTEN ? this.written().then(() => stored) : stored
  }

  async #write(): Promise<void> {
    this.#isWriting = true
    while (this.#unwritten.length > 0) {
      const groups = this.#unwritten.slice(0, this.#nextCount())
      await this.#writeGroups(groups)
      this.#unwritten.splice(0, groups.length)
      this.#written += groups.length
      for (const { payloads } of groups) this.#unwrittenItems -= payloads.length
      while ((this.#whenWritten[0]?.upTo ?? Infinity) <= this.#written) {
        this.#whenWritten.shift()!.resolve()
      }
    }
    this.#isWriting = false
    this.#advance()
  }

  /** How many go into one write. */
  #nextCount(): number {
    let [count, items, length] = [0, 0, 0]
    for (const group of this.#unwritten) {
      items += group.payloads.length
      length += lengthOf(group)
      if (count > 0 && (items > MOST_ITEMS || length > MOST_LENGTH)) break
      count++
    }
    return count
  }

  async #writeGroups(groups: readonly PushGroup[]): Promise<void> {
    const { pushAll, clock, log } = this.#setup
    for (;;) {
      try {
        await pushAll(groups)
        return
      } catch (error) {
        const isOver = !(error instanceof StoreError) || !error.retryable || this.#isFinishing
        const data = { err: error, count: groups.length }
        if (isOver) {
          log.error(data, 'pushes that were answered could not be written and are lost')
          this.#failure ??= error as StoreError
          return
        }
        log.warn(data, 'pushes that were answered could not be written; it is tried again')
        await sleep(clock, RETRY_MS)
      }
    }
  }
}

function mustBeWrittenFirst({ group: { dedupeKey, delayMs }, durability }: Push): boolean {
  return durability !== 'memory' || dedupeKey !== null || delayMs > 0
}
