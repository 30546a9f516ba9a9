import type { QueueCounts } from '../../store/queue-store.ts'
import type { Transaction } from '../file/database.ts'
import type { QueueCounters } from './counters.ts'

// The row of a queue has the number of messages in each state, and every batch updates it, so that
// neither opening nor looking has to count, also with several processes.

/** The numbers in the column `state`. */
export const READY = 0
export const DELAYED = 1
export const IN_FLIGHT = 2
export const DEAD = 3
export const BLOCKED = 4

/** The largest id. The number after it must be a safe one too. */
const LAST_ID = Number.MAX_SAFE_INTEGER - 1

/** The row of a queue, as it changes within one transaction. */
export class QueueRow {
  readonly #tx: Transaction
  readonly #queue: number
  /** By state; blocked ones count as delayed. */
  readonly #counts: number[]
  #nextId: number
  #changed = false

  constructor(tx: Transaction, queue: number, found: QueueCounters) {
    this.#tx = tx
    this.#queue = queue
    this.#counts = [found.ready, found.delayed, found.in_flight, found.dead]
    this.#nextId = found.next_id
  }

  /** Messages that are not dead letters. */
  get live(): number {
    return this.#counts[READY]! + this.#counts[DELAYED]! + this.#counts[IN_FLIGHT]!
  }

  get ready(): number {
    return this.#counts[READY]!
  }

  get counts(): QueueCounts {
    const [ready, delayed, inFlight, dead] = this.#counts as [number, number, number, number]
    return { ready, inFlight, delayed, dead }
  }

  /** Reserves ids of the file's sequence; returns the first. */
  takeIds(count: number): number | undefined {
    if (this.#nextId + count - 1 > LAST_ID) return undefined
    const first = this.#nextId
    this.#nextId += count
    this.#changed = true
    return first
  }

  add(state: number, count = 1): void {
    this.#counts[state === BLOCKED ? DELAYED : state]! += count
    this.#changed = true
  }

  remove(state: number, count = 1): void {
    this.add(state, -count)
  }

  move(from: number, to: number, count = 1): void {
    this.remove(from, count)
    this.add(to, count)
  }

  /** Counts the messages, all of them. */
  recount(): void {
    const rows = this.#tx
      .sql('select state, count(*) as count from messages where queue = ? group by state')
      .all(this.#queue) as { state: number; count: number }[]
    this.#counts.fill(0)
    for (const { state, count } of rows) this.add(state, count)
    this.#changed = true
  }

  /** Writes the row, if anything has changed. */
  save(): void {
    if (!this.#changed) return
    const [ready, delayed, inFlight, dead] = this.#counts as [number, number, number, number]
    this.#tx
      .sql(
        `update queues set ready = ?, in_flight = ?, delayed = ?, dead = ?, next_id = ?
         where queue = ?`,
      )
      .run(ready, inFlight, delayed, dead, this.#nextId, this.#queue)
  }
}
