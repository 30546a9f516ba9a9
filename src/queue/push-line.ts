import { countWithin } from '../base/sync/count-within.ts'
import type { BatchAnswer, PushGroup, QueueCounts } from '../store/queue-store.ts'
import { StoreError } from '../store/store-error.ts'
import { QueueError } from './queue-error.ts'

// The pushes that wait to be sent, in the order of the calls.
//
//   - One that finds the queue full keeps its place in line until there is space.
//   - No push overtakes it: where pushes may have to wait, one batch with pushes is in flight at a
//     time, and the store rejects all that follow one that found no space.

/**
 * Bounds on one batch: building and answering it must not block the event loop. A call of its own
 * costs more than one more message of a list.
 */
export const MAX_ENTRIES = 512
export const MAX_ITEMS = 1_024
const LENGTH = { max: 4 * 1024 * 1024, of: (entry: PushEntry) => entry.length }

const NO_DISK =
  'the disk is almost full, and the space left is reserved for deliveries; free some space or take messages'

/** Where a group is. */
export interface StoredGroup {
  readonly firstId: number
  readonly count: number
}

/** One call of `push` or `pushMany`. */
export interface PushEntry {
  /** Its place in line. */
  readonly number: number
  readonly group: PushGroup
  /** How many messages, and how long they are together. */
  readonly items: number
  readonly length: number
  /** Whether they have to survive power loss when this is answered. */
  readonly isDurable: boolean
  /** When it was called; 0 without metrics. */
  readonly at: number
  readonly resolve: (stored: StoredGroup) => void
  readonly reject: (error: Error) => void
}

/** What a line uses. */
export interface PushLineSetup {
  readonly capacity: number
  readonly whenFull: 'wait' | 'refuse'
  /** How many messages there are, as of the last answer. */
  readonly counts: () => QueueCounts
}

/** The pending pushes. */
export class PushLine {
  /** Whether a push may have to wait, and those after it with it. */
  readonly keepsOrder: boolean
  readonly #setup: PushLineSetup
  #entries: PushEntry[] = []
  #lastNumber = 0
  /** Whether those in line have to wait for space. */
  #isFull = false
  /** How many batches with pushes are under way. */
  #underWay = 0

  constructor(setup: PushLineSetup) {
    this.#setup = setup
    this.keepsOrder = setup.whenFull === 'wait' && setup.capacity !== Infinity
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Whether a push waits for space. */
  get waitsForRoom(): boolean {
    return this.#isFull && this.#entries.length > 0
  }

  /** Gets in line; resolves when the group is stored, with its place. */
  add(group: PushGroup, isDurable: boolean, at: number): Promise<StoredGroup> {
    return new Promise((resolve, reject) => {
      const [items, length] = [group.payloads.length, lengthOf(group)]
      const number = ++this.#lastNumber
      this.#entries.push({ number, group, items, length, isDurable, at, resolve, reject })
    })
  }

  /** Whether the first in line can be sent. */
  get isReady(): boolean {
    const first = this.#entries[0]
    if (first === undefined || first.items > this.#room()) return false
    return this.#underWay === 0 || !this.keepsOrder
  }

  /** Takes out what goes with the next batch; `answer` or `fail` has to follow. */
  next(): readonly PushEntry[] {
    if (!this.isReady) return []
    const items = { max: Math.min(MAX_ITEMS, this.#room()), of: (entry: PushEntry) => entry.items }
    const next = this.#entries.splice(0, countWithin(this.#entries, MAX_ENTRIES, [items, LENGTH]))
    if (this.#entries.length === 0) this.#isFull = false
    this.#underWay++
    return next
  }

  /** The store has said what became of them. */
  answer(entries: readonly PushEntry[], verdicts: BatchAnswer['pushes']): void {
    if (entries.length === 0) return
    this.#underWay--
    const waiting: PushEntry[] = []
    entries.forEach((entry, i) => {
      const verdict = verdicts[i]!
      switch (verdict.state) {
        case 'stored':
        case 'duplicate':
          entry.resolve(verdict)
          break
        case 'ids_exhausted':
          entry.reject(new QueueError('ids_exhausted', 'queue push: there are no ids left'))
          break
        case 'no_disk':
          entry.reject(new StoreError('unavailable', 'queue push', NO_DISK))
          break
        case 'full':
          if (this.#setup.whenFull === 'wait') waiting.push(entry)
          else entry.reject(this.#full())
      }
    })
    if (waiting.length === 0) return
    // Back into their places, before those that came meanwhile.
    this.#entries = [...waiting, ...this.#entries].toSorted((a, b) => a.number - b.number)
    this.#isFull = true
  }

  /** The batch with them failed. */
  fail(entries: readonly PushEntry[], error: Error): void {
    if (entries.length > 0) this.#underWay--
    for (const { reject } of entries) reject(error)
  }

  /** Rejects all that are in line. */
  rejectAll(error: Error): void {
    for (const { reject } of this.#entries.splice(0)) reject(error)
  }

  /** For how many messages there may be room. */
  #room(): number {
    if (!this.#isFull) return Infinity
    const { ready, inFlight, delayed } = this.#setup.counts()
    return this.#setup.capacity - ready - inFlight - delayed
  }

  #full(): QueueError {
    const message = `queue push: the queue is full, its capacity is ${this.#setup.capacity}`
    return new QueueError('full', message)
  }
}

/** How long the messages of a group are together. */
function lengthOf({ payloads }: PushGroup): number {
  let length = 0
  for (const { data } of payloads) length += data.length
  return length
}
