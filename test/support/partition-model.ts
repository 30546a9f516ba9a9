// A partition in memory, for the property of settlements: it stores what a settlement says and nothing
// else, as a store does, and notes what must not happen.

import type { Settlement, StoredMessage } from '../../src/store/outbox-store.ts'
import { DONE, type Outcome } from '../../src/outbox/outcome.ts'
import { type ReadPartition, type RetryPolicy, settle } from '../../src/outbox/settlement.ts'

/** What happens in one round. */
export interface Round {
  /** Keys of messages that are enqueued first. */
  readonly add: readonly (string | null)[]
  /** How many messages are read. */
  readonly size: number
  /** What becomes of the messages, in turn. */
  readonly outcomes: readonly Outcome[]
  /** Whether all of them are tried, whatever becomes of those before. */
  readonly isBatch: boolean
  /** Whether the process dies before it settles: nothing of the round is stored. */
  readonly dies: boolean
}

interface Waiting {
  readonly message: StoredMessage
  failures: number
}

/** A partition and its messages. */
export class PartitionModel {
  readonly faults: string[] = []
  readonly #policy: RetryPolicy
  readonly #messages: { position: number; key: string | null }[] = []
  readonly #ended = new Map<number, number>()
  readonly #endOrder = new Map<string, number[]>()
  readonly #seqs = new Map<number, number>()
  #waiting: Waiting[] = []
  #cursor = 0
  #seq = 0
  #done: readonly number[] = []
  #failures: ReadonlyMap<number, number> = new Map()
  #later: ReadonlyMap<number, number> = new Map()
  #now = 0
  #lastPosition = 0

  constructor(policy: RetryPolicy) {
    this.#policy = policy
  }

  /** Each round is a millisecond after the one before. */
  play({ add, size, outcomes, isBatch, dies }: Round): void {
    this.#now++
    for (const key of add) {
      // Positions have gaps: transactions are rolled back.
      this.#lastPosition += 3
      this.#messages.push({ position: this.#lastPosition, key })
    }
    const read = this.#read(size)
    let next = 0
    const results = this.#deliver(read, isBatch, () => outcomes[next++ % outcomes.length]!)
    if (dies) return
    const { settlement } = settle(read, results, this.#policy, this.#now)
    this.#store(read, settlement, results, isBatch)
  }

  /** Delivers what is left, and checks that nothing is missing. */
  finish(): void {
    const done: Omit<Round, 'dies'> = { add: [], size: 100, outcomes: [DONE], isBatch: false }
    for (let i = 0; i < this.#messages.length + 2; i++) {
      this.#now += 1_000
      this.play({ ...done, dies: false })
    }
    for (const { position } of this.#messages) {
      const times = this.#ended.get(position) ?? 0
      if (times !== 1) this.faults.push(`message ${position} ended ${times} times`)
    }
    // The last ones may be done without the cursor having passed them.
    const numbers = this.#seq + this.#done.length
    if (numbers !== this.#messages.length) {
      this.faults.push(`${numbers} numbers for ${this.#messages.length} messages`)
    }
    this.#messages.forEach(({ position }, i) => {
      const seq = this.#seqs.get(position)
      if (seq !== i + 1) this.faults.push(`message ${position} has number ${seq}, not ${i + 1}`)
    })
    for (const [key, order] of this.#endOrder) {
      const isInOrder = order.every((position, i) => i === 0 || order[i - 1]! < position)
      if (!isInOrder) this.faults.push(`messages of key ${key} ended as ${order.join(', ')}`)
    }
  }

  #read(size: number): ReadPartition {
    const early = [...this.#later].flatMap(([position, at]) => (at > this.#now ? [position] : []))
    const end = early.reduce((least, position) => Math.min(least, position), Infinity)
    const after = this.#messages.filter(({ position }) => position > this.#cursor)
    const messages = after
      .map(({ position, key }, i) => this.#stored(position, key, this.#seq + i + 1))
      .filter(({ position }) => position < end && !this.#done.includes(position))
      .slice(0, size)
    for (const { position, seq } of messages) this.#number(position, seq)
    const keys = this.#waiting.map(({ message }) => message.key)
    const due = this.#waiting.filter(
      ({ message }, i) => message.key === null || keys.indexOf(message.key) === i,
    )
    return {
      state: 'ok',
      epoch: 1,
      cursor: this.#cursor,
      done: this.#done,
      failures: this.#failures,
      later: this.#later,
      abandoned: 0,
      messages,
      due: due.slice(0, size).map(({ message, failures }) => ({ ...message, failures })),
      waitingKeys: [...new Set(keys.filter((key) => key !== null))],
      isBlocked: false,
      dueAt: null,
      isReleased: false,
    }
  }

  #stored(position: number, key: string | null, seq: number): StoredMessage {
    const failures = this.#failures.get(position) ?? 0
    const expiresAt = null
    return {
      position,
      id: position,
      seq,
      key,
      payload: '',
      headers: null,
      enqueuedAt: 0,
      expiresAt,
      failures,
    }
  }

  #number(position: number, seq: number): void {
    const before = this.#seqs.get(position)
    if (before !== undefined && before !== seq) {
      this.faults.push(`message ${position} had number ${before}, and now ${seq}`)
    }
    this.#seqs.set(position, seq)
  }

  /** As `deliver.ts` does it. */
  #deliver(
    { due, messages, waitingKeys }: ReadPartition,
    isBatch: boolean,
    outcome: () => Outcome,
  ): Map<number, Outcome> {
    const results = new Map<number, Outcome>()
    const failed = new Set<string>()
    const deliverable = [
      ...due,
      ...messages.filter(({ key }) => key === null || !waitingKeys.includes(key)),
    ]
    for (const { position, key } of deliverable) {
      if (!isBatch && key !== null && failed.has(key)) continue
      const result = outcome()
      if (result.kind === 'untried') {
        if (isBatch) continue
        return results
      }
      results.set(position, result)
      if (result.kind !== 'retry' || isBatch) continue
      if (this.#policy.whenStuck !== 'skip') return results
      if (key !== null) failed.add(key)
    }
    return results
  }

  #store(
    read: ReadPartition,
    settlement: Settlement,
    results: ReadonlyMap<number, Outcome>,
    isBatch: boolean,
  ): void {
    const { cursor, to, passed, done, failures, later, dead, deferred, waiting } = settlement
    if (cursor !== this.#cursor) this.faults.push('the settlement is for another cursor')
    const skipped = this.#messages.filter(({ position }) => position > cursor && position <= to)
    if (skipped.length !== passed) {
      this.faults.push(`${passed} messages were passed, and ${skipped.length} lie there`)
    }
    for (const [position, { kind }] of results) {
      const isDead = dead.some((letter) => letter.position === position)
      if (kind === 'done' || kind === 'expired' || isDead) this.#end(read, position, isBatch)
    }
    for (const { position, failures: count } of deferred) {
      const message = read.messages.find((one) => one.position === position)!
      this.#waiting.push({ message, failures: count })
    }
    const over = new Set([
      ...dead.map(({ position }) => position),
      ...waiting.filter((one) => one.retry === null).map(({ position }) => position),
    ])
    this.#waiting = this.#waiting
      .filter(({ message }) => !over.has(message.position))
      .toSorted((a, b) => a.message.position - b.message.position)
    for (const { position, retry } of waiting) {
      const found = this.#waiting.find(({ message }) => message.position === position)
      if (found !== undefined && retry !== null) found.failures = retry.failures
    }
    this.#cursor = to
    this.#seq += passed
    this.#done = done
    this.#failures = failures
    this.#later = later
    for (const position of later.keys()) {
      if (position <= to || done.includes(position)) this.faults.push(`${position} is still later`)
    }
  }

  #end(read: ReadPartition, position: number, isBatch: boolean): void {
    this.#ended.set(position, (this.#ended.get(position) ?? 0) + 1)
    const { key } = [...read.messages, ...read.due].find((one) => one.position === position)!
    // The handler of a batch decides about the order itself.
    if (key === null || isBatch) return
    this.#endOrder.set(key, [...(this.#endOrder.get(key) ?? []), position])
  }
}
