import { countWithin } from '../base/sync/count-within.ts'
import type { Clock } from '../base/time/clock.ts'
import type {
  BatchAnswer,
  Change,
  ChangeKind,
  ChangeVerdict,
  QueueStore,
  QueueState,
} from '../store/queue-store.ts'
import type { StoreError } from '../store/store-error.ts'
import type { Meter } from './meter.ts'
import { MAX_ENTRIES, MAX_ITEMS, type PushEntry, PushLine, type StoredGroup } from './push-line.ts'
import type { Push } from './push-options.ts'
import type { Durability } from './queue.ts'
import type { Asked, Takers } from './takers.ts'

// All pending pushes, changes and takes go to the store as one batch, which is one transaction and at
// most one fsync. While a batch is in flight the next one gathers. There is no timer: a single call is
// sent at once, when no microtask is left.
//
//   - Pushes are stored in the order of the calls, as are changes.
//   - A batch that fails, fails all its calls; none of them has taken effect, unless the thread ended
//     meanwhile (`connection_lost`).
//   - After a failure nothing is sent for calls that only wait, until the store has answered again.
//   - A batch is as durable as the most durable call in it.
//
// Not a `Batcher`: that has one kind of item and one batch in flight. Here three kinds share a
// transaction, and what to take is known only when the batch is sent.

/** With two, the store works on one while this side makes and answers the other. */
const MAX_IN_FLIGHT = 2

const CHANGES = [{ max: MAX_ITEMS, of: ({ changes }: ChangeEntry) => changes.length }]

// Losing one of these leaves a message in the queue that is there anyway, as losing a delivery does.
const HARMLESS_TO_LOSE: ReadonlySet<ChangeKind> = new Set(['nack', 'release', 'extend'])

/** Changes that belong into one batch. */
interface ChangeEntry {
  readonly changes: readonly Change[]
  /** Whether they have to survive power loss when this is answered. */
  readonly isDurable: boolean
  readonly resolve: (verdicts: readonly ChangeVerdict[]) => void
  readonly reject: (error: Error) => void
}

/** What it works with. */
export interface GroupCommitSetup<D> {
  readonly store: Pick<QueueStore, 'apply'>
  readonly takers: Takers<D>
  readonly clock: Clock
  readonly leaseMs: number
  readonly maxAttempts: number
  readonly capacity: number
  readonly whenFull: 'wait' | 'refuse'
  /** The durability of acknowledgements and everything else that is not a push. */
  readonly durability: Durability
  readonly meter: Meter | undefined
  /** Makes deliveries of what was taken by a batch that was sent at this time. */
  readonly open: (taken: BatchAnswer['taken'], sentAt: number) => readonly D[]
  /** Returns messages that were taken and that no taker wants any longer. */
  readonly giveBack: (deliveries: readonly D[]) => void
  readonly onQueueState: (queueState: QueueState) => void
  /** A batch failed; with `isUnreported`, no call in it could report the failure. */
  readonly onFailure: (error: StoreError, isUnreported: boolean) => void
}

/** What a batch was sent with. */
interface Sent<D> {
  readonly changes: readonly ChangeEntry[]
  readonly pushes: readonly PushEntry[]
  readonly asked: Asked<D>
  readonly at: number
  readonly isDurable: boolean
}

/** Sends pushes, changes and takes to the store, as many as there are at a time. */
export class GroupCommit<D> {
  readonly #setup: GroupCommitSetup<D>
  readonly #pushes: PushLine
  #changes: ChangeEntry[] = []
  #inFlight = 0
  #isScheduled = false
  #mustSweep = false
  #isFailing = false
  #queueState: QueueState
  #whenIdle: (() => void)[] = []

  constructor(setup: GroupCommitSetup<D>, queueState: QueueState) {
    const { capacity, whenFull } = setup
    this.#setup = setup
    this.#queueState = queueState
    this.#pushes = new PushLine({ capacity, whenFull, counts: () => this.#queueState.counts })
  }

  /** Stores a group; resolves when it is as durable as was asked for. */
  push({ group, durability }: Push): Promise<StoredGroup> {
    const { meter, clock } = this.#setup
    const at = meter === undefined ? 0 : clock.now()
    const stored = this.#pushes.add(group, durability === 'fsync', at)
    this.#schedule()
    return stored
  }

  /** Does things to messages, all in one transaction. */
  change(changes: readonly Change[]): Promise<readonly ChangeVerdict[]> {
    const isDurable =
      this.#setup.durability === 'fsync' && !changes.every(({ kind }) => HARMLESS_TO_LOSE.has(kind))
    return new Promise((resolve, reject) => {
      this.#changes.push({ changes, isDurable, resolve, reject })
      this.#schedule()
    })
  }

  /** A new taker waits for messages. */
  asked(): void {
    this.#schedule()
  }

  /** Something is due: sends a batch even if there is nothing in it. */
  sweep(): void {
    this.#mustSweep = true
    this.#schedule()
  }

  /** Takes over the state of the queue that was just read. */
  learn(queueState: QueueState): void {
    this.#isFailing = false
    this.#queueState = queueState
    this.#setup.onQueueState(queueState)
    if (this.#hasWork()) this.#schedule()
  }

  /** Whether pushes or changes are waiting or under way. */
  get isBusy(): boolean {
    return this.#inFlight > 0 || !this.#pushes.isEmpty || this.#changes.length > 0
  }

  /** Whether a push waits for space. */
  get waitsForRoom(): boolean {
    return this.#pushes.waitsForRoom
  }

  /** Resolves when everything that can be done is done; pushes that wait for room are rejected. */
  async finish(closed: StoreError): Promise<void> {
    while (this.#inFlight > 0 || this.#isScheduled || this.#hasWork()) {
      this.#schedule()
      await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
    }
    this.#pushes.rejectAll(closed)
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
    while (this.#inFlight < MAX_IN_FLIGHT && this.#hasWork()) void this.#send()
    if (this.#inFlight === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
  }

  #hasWork(): boolean {
    const { takers } = this.#setup
    return (
      this.#changes.length > 0 ||
      this.#mustSweep ||
      takers.isAsking ||
      (takers.needsMore && this.#queueState.counts.ready > 0 && !this.#isFailing) ||
      this.#pushes.isReady
    )
  }

  async #send(): Promise<void> {
    const { store, takers, clock, leaseMs, maxAttempts, capacity } = this.#setup
    const changes = this.#changes.splice(0, countWithin(this.#changes, MAX_ENTRIES, CHANGES))
    const pushes = this.#pushes.next()
    const sent: Sent<D> = {
      changes,
      pushes,
      asked: takers.ask(),
      at: clock.now(),
      isDurable: pushes.some(wantsDurable) || changes.some(wantsDurable),
    }
    this.#mustSweep = false
    this.#inFlight++
    let answer: BatchAnswer
    try {
      answer = await store.apply({
        changes: joined(changes.map((entry) => entry.changes)),
        pushes: pushes.map(({ group }) => group),
        takes: sent.asked.takes,
        leaseMs,
        maxAttempts,
        capacity,
        inOrder: this.#pushes.keepsOrder,
        durable: sent.isDurable,
      })
    } catch (thrown) {
      this.#inFlight--
      this.#schedule()
      return this.#fail(thrown as StoreError, sent)
    }
    this.#inFlight--
    this.#schedule()
    this.#answer(answer, sent)
  }

  #answer(answer: BatchAnswer, sent: Sent<D>): void {
    const { takers, open, giveBack, onQueueState, meter, clock } = this.#setup
    const { changes, pushes, asked, at } = sent
    const { taken, queueState } = answer
    meter?.answered(sent, answer, clock.now())
    this.#isFailing = false
    this.#queueState = queueState
    let answered = 0
    for (const entry of changes) {
      const next = answered + entry.changes.length
      entry.resolve(answer.changes.slice(answered, next))
      answered = next
    }
    this.#pushes.answer(pushes, answer.pushes)
    const deliveries = open(taken, at)
    // If some cannot be decoded, no call gets an empty answer before those are dead letters.
    const hasMore =
      deliveries.length < taken.length || (taken.length > 0 && queueState.counts.ready > 0)
    const unwanted = takers.receive(asked, deliveries, hasMore)
    if (unwanted.length > 0) giveBack(unwanted)
    onQueueState(queueState)
  }

  #fail(error: StoreError, { changes, pushes, asked }: Sent<D>): void {
    this.#isFailing = true
    this.#setup.meter?.failed(error)
    for (const { reject } of changes) reject(error)
    this.#pushes.fail(pushes, error)
    this.#setup.takers.fail(asked, error)
    this.#setup.onFailure(error, changes.length + pushes.length + asked.newTakers.length === 0)
  }
}

function wantsDurable({ isDurable }: { readonly isDurable: boolean }): boolean {
  return isDurable
}

// Most lists have one item, for which flat() takes many times as long.
function joined<Item>(lists: readonly (readonly Item[])[]): readonly Item[] {
  const all: Item[] = []
  for (const list of lists) for (const item of list) all.push(item)
  return all
}
