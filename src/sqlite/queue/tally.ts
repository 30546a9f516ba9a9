import type { QueueCounts, Standing } from '../../store/queue-store.ts'
import type { Transaction } from '../database.ts'

// How many messages are in each state stands in the row of the queue and is changed with every
// batch, so that neither opening nor looking has to count, also with several processes.

/** The numbers in the column `state`. */
export const READY = 0
export const DELAYED = 1
export const IN_FLIGHT = 2
export const DEAD = 3
export const BLOCKED = 4

/** The largest id. The number after it must be a safe one too. */
const LAST_ID = Number.MAX_SAFE_INTEGER - 1

/** The row of a queue, as it changes within one transaction. */
export class Tally {
  readonly #tx: Transaction
  readonly #queue: number
  /** By state; blocked ones stand with the delayed. */
  readonly #counts: number[]
  #nextId: number | undefined
  #changed = false

  constructor(tx: Transaction, queue: number) {
    const row = tx
      .sql('select ready, in_flight, delayed, dead from queues where queue = ?')
      .get(queue) as { ready: number; in_flight: number; delayed: number; dead: number }
    this.#tx = tx
    this.#queue = queue
    this.#counts = [row.ready, row.delayed, row.in_flight, row.dead]
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

  /** Takes ids out of the sequence of the file; answers the first (Q1). */
  takeIds(count: number): number | undefined {
    this.#nextId ??= (
      this.#tx.sql('select max(next_id) as next from queues').get() as { next: number }
    ).next
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

  /** Writes the row, if anything has changed. */
  save(): void {
    if (!this.#changed) return
    const [ready, delayed, inFlight, dead] = this.#counts as [number, number, number, number]
    this.#tx
      .sql(
        `update queues set ready = ?, in_flight = ?, delayed = ?, dead = ?,
           next_id = ifnull(?, next_id)
         where queue = ?`,
      )
      .run(ready, inFlight, delayed, dead, this.#nextId ?? null, this.#queue)
  }
}

/** How a queue stands for one of its users. */
export function standing(tx: Transaction, queue: number, session: number): Standing {
  return standingOf(tx, queue, session, new Tally(tx, queue).counts)
}

/** The same, when the counts are known. */
export function standingOf(
  tx: Transaction,
  queue: number,
  session: number,
  counts: QueueCounts,
): Standing {
  const others = tx.sql('select 1 as other from sessions where session <> ? limit 1').get(session)
  return { now: tx.now, counts, nextDueAt: nextDueAt(tx, queue), shared: others !== undefined }
}

// Three looks at the first entry of an index each.
function nextDueAt(tx: Transaction, queue: number): number | null {
  const { delay, lease, expiry } = tx
    .sql(
      `select
         (select min(due_at) from messages
          where queue = ? and state = ${DELAYED} and due_at is not null) as delay,
         (select min(due_at) from messages
          where queue = ? and state = ${IN_FLIGHT} and due_at is not null) as lease,
         (select min(expires_at) from messages
          where queue = ? and expires_at is not null and state in (0, 1, 4)) as expiry`,
    )
    .get(queue, queue, queue) as Record<'delay' | 'lease' | 'expiry', number | null>
  const first = Math.min(delay ?? Infinity, lease ?? Infinity, expiry ?? Infinity)
  return first === Infinity ? null : first
}
