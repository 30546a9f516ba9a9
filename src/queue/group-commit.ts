import {
  type BatchAnswer,
  type Change,
  type ChangeVerdict,
  type PushGroup,
  type QueueStore,
  type Standing,
} from '../store/queue-store.ts'
import type { StoreError } from '../store/store-error.ts'
import { QueueError } from './queue-error.ts'
import type { Asked, Takers } from './takers.ts'

// Everything that waits goes to the store as one batch, which is one transaction and at most one
// fsync. While a batch is under way the next one gathers. There is no timer: what comes alone is
// sent at once, when no microtask is left.
//
//   G1. Pushes are stored in the order of the calls, as are changes.
//   G2. A batch that fails, fails all that is in it; none of it has happened, unless the thread
//       ended in the middle (`connection_lost`).
//   G3. A push that finds the queue full waits in its place in line until there is room.

/** With two, the store works on one while this side makes and answers the other. */
const MOST_IN_FLIGHT = 2
/** Bounds on one batch: the event loop must not be held up by what it makes or answers. */
const MOST_ITEMS = 512
const MOST_LENGTH = 4 * 1024 * 1024

interface PushEntry {
  /** Its place in line. */
  readonly number: number
  readonly group: PushGroup
  readonly length: number
  readonly resolve: (stored: StoredGroup) => void
  readonly reject: (error: Error) => void
}

/** Changes that belong into one batch. */
interface ChangeEntry {
  readonly changes: readonly Change[]
  readonly resolve: (verdicts: readonly ChangeVerdict[]) => void
  readonly reject: (error: Error) => void
}

/** Where a group is. */
export interface StoredGroup {
  readonly firstId: number
  readonly count: number
}

/** What it works with. */
export interface GroupCommitSetup<D> {
  readonly store: Pick<QueueStore, 'apply'>
  readonly takers: Takers<D>
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly capacity: number
  readonly whenFull: 'wait' | 'refuse'
  /** Makes deliveries of what was taken, and tells how many could not be read. */
  readonly open: (taken: BatchAnswer['taken']) => { deliveries: readonly D[]; unreadable: number }
  /** Is given what was taken and nobody wants any more. */
  readonly giveBack: (deliveries: readonly D[]) => void
  readonly onStanding: (standing: Standing) => void
  readonly onFailure: (error: StoreError) => void
}

/** Sends pushes, changes and takes to the store, as many as there are at a time. */
export class GroupCommit<D> {
  readonly #setup: GroupCommitSetup<D>
  #pushes: PushEntry[] = []
  #changes: ChangeEntry[] = []
  #lastNumber = 0
  #inFlight = 0
  #isScheduled = false
  #mustSweep = false
  #standing: Standing
  /** Whether those in line have to wait for room (G3). */
  #isFull = false
  #whenIdle: (() => void)[] = []

  constructor(setup: GroupCommitSetup<D>, standing: Standing) {
    this.#setup = setup
    this.#standing = standing
  }

  /** Stores a group; resolves when it is durable. */
  push(group: PushGroup): Promise<StoredGroup> {
    return new Promise((resolve, reject) => {
      let length = 0
      for (const { data } of group.payloads) length += data.length
      this.#pushes.push({ number: ++this.#lastNumber, group, length, resolve, reject })
      this.#schedule()
    })
  }

  /** Does things to messages, all in one transaction. */
  change(changes: readonly Change[]): Promise<readonly ChangeVerdict[]> {
    return new Promise((resolve, reject) => {
      this.#changes.push({ changes, resolve, reject })
      this.#schedule()
    })
  }

  /** Somebody has got in line for messages. */
  asked(): void {
    this.#schedule()
  }

  /** Time has come for something: sends a batch even if there is nothing in it. */
  sweep(): void {
    this.#mustSweep = true
    this.#schedule()
  }

  /** The queue was found to stand like this. */
  learn(standing: Standing): void {
    this.#standing = standing
    this.#setup.onStanding(standing)
    if (this.#hasWork()) this.#schedule()
  }

  /** Whether pushes or changes are waiting or under way. */
  get isBusy(): boolean {
    return this.#inFlight > 0 || this.#pushes.length > 0 || this.#changes.length > 0
  }

  /** Resolves when everything that can be done is done; pushes that wait for room are rejected. */
  async finish(closed: StoreError): Promise<void> {
    while (this.#inFlight > 0 || this.#isScheduled || this.#hasWork()) {
      this.#schedule()
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
    }
    for (const { reject } of this.#pushes.splice(0)) reject(closed)
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    // A tick that is queued from a microtask comes when no microtask is left: whatever one answer
    // sets off is in the next batch.
    queueMicrotask(() => process.nextTick(() => this.#flush()))
  }

  #flush(): void {
    this.#isScheduled = false
    while (this.#inFlight < MOST_IN_FLIGHT && this.#hasWork()) void this.#send()
    if (this.#inFlight === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #hasWork(): boolean {
    const { takers } = this.#setup
    return (
      this.#changes.length > 0 ||
      this.#mustSweep ||
      takers.isAsking ||
      (takers.isHungry && this.#standing.counts.ready > 0) ||
      (this.#pushes.length > 0 && this.#hasRoom(this.#pushes[0]!))
    )
  }

  #hasRoom({ group }: PushEntry): boolean {
    return group.payloads.length <= this.#room()
  }

  /** For how many messages there may be room. */
  #room(): number {
    if (!this.#isFull) return Infinity
    const { ready, inFlight, delayed } = this.#standing.counts
    return this.#setup.capacity - ready - inFlight - delayed
  }

  async #send(): Promise<void> {
    const { store, takers, leaseMs, maxAttempts, capacity } = this.#setup
    const changes = this.#nextChanges()
    const pushes = this.#nextPushes()
    const asked = takers.ask()
    this.#mustSweep = false
    this.#inFlight++
    let answer: BatchAnswer
    try {
      answer = await store.apply({
        changes: changes.flatMap((entry) => entry.changes),
        pushes: pushes.map(({ group }) => group),
        take: asked.most,
        leaseMs,
        maxAttempts,
        capacity,
        dueAt: this.#standing.nextDueAt,
      })
    } catch (thrown) {
      this.#inFlight--
      this.#schedule()
      return this.#fail(thrown as StoreError, changes, pushes, asked)
    }
    this.#inFlight--
    this.#schedule()
    this.#answer(answer, changes, pushes, asked)
  }

  #nextChanges(): ChangeEntry[] {
    let [count, items] = [0, 0]
    while (count < this.#changes.length && items < MOST_ITEMS) {
      items += this.#changes[count++]!.changes.length
    }
    return this.#changes.splice(0, count)
  }

  #nextPushes(): PushEntry[] {
    if (this.#pushes.length === 0 || !this.#hasRoom(this.#pushes[0]!)) return []
    const most = Math.min(MOST_ITEMS, this.#room())
    let [count, items, length] = [0, 0, 0]
    for (const entry of this.#pushes) {
      items += entry.group.payloads.length
      length += entry.length
      if (count > 0 && (items > most || length > MOST_LENGTH)) break
      count++
    }
    const next = this.#pushes.splice(0, count)
    if (this.#pushes.length === 0) this.#isFull = false
    return next
  }

  #answer(
    answer: BatchAnswer,
    changes: readonly ChangeEntry[],
    pushes: readonly PushEntry[],
    asked: Asked<D>,
  ): void {
    const { takers, open, giveBack, onStanding } = this.#setup
    this.#standing = answer.standing
    let answered = 0
    for (const entry of changes) {
      const next = answered + entry.changes.length
      entry.resolve(answer.changes.slice(answered, next))
      answered = next
    }
    this.#answerPushes(pushes, answer.pushes)
    const { deliveries, unreadable } = open(answer.taken)
    const unwanted = takers.receive(asked, deliveries, unreadable > 0)
    if (unwanted.length > 0) giveBack(unwanted)
    onStanding(answer.standing)
  }

  #answerPushes(pushes: readonly PushEntry[], verdicts: BatchAnswer['pushes']): void {
    const { whenFull, capacity } = this.#setup
    const waiting: PushEntry[] = []
    for (const [i, entry] of pushes.entries()) {
      const verdict = verdicts[i]!
      switch (verdict.state) {
        case 'stored':
        case 'duplicate':
          entry.resolve(verdict)
          break
        case 'ids_exhausted':
          entry.reject(new QueueError('ids_exhausted', 'queue push: there are no ids left'))
          break
        case 'full':
          if (whenFull === 'wait') waiting.push(entry)
          else {
            const message = `queue push: the queue is full, its capacity is ${capacity}`
            entry.reject(new QueueError('full', message))
          }
      }
    }
    if (waiting.length === 0) return
    // Two batches may come back: the first one's are first in line.
    this.#pushes = [...waiting, ...this.#pushes].toSorted((a, b) => a.number - b.number)
    this.#isFull = true
  }

  #fail(
    error: StoreError,
    changes: readonly ChangeEntry[],
    pushes: readonly PushEntry[],
    asked: Asked<D>,
  ): void {
    for (const { reject } of changes) reject(error)
    for (const { reject } of pushes) reject(error)
    this.#setup.takers.fail(asked, error)
    this.#setup.onFailure(error)
  }
}
