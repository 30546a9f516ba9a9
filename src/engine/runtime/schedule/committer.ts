// Group commit: every item that is ready, of all instances, goes to the store as one call.
//
//   One batch is in flight at a time; meanwhile the next one fills. No timer delays anything.
//   An instance has at most one item here: it waits for the verdict before its next turn.
//   A batch whose outcome is unknown is sent again, unchanged; the store recognises it.
//   Items that the store did not try, because others of the batch were locked, join the next batch.
//   A batch that the store rejects is halved until the bad item is alone; the others go through.

import { countWithin } from '../../../base/sync/count-within.ts'
import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { CommitAnswer, StartItem, TurnItem, Verdict } from '../../../store/commits.ts'
import type { Iid } from '../../../store/instances.ts'
import { bytesOfStart, bytesOfTurn, MAX_CALL_BYTES } from '../../../store/sizes.ts'
import { StoreError } from '../../../store/store-error.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'

/** Something to be committed. */
export interface Entry {
  /** Exactly one of the two is set. */
  readonly start?: StartItem
  readonly turn?: TurnItem
  /** Called once: with what became of it, or with the error that it met alone. */
  settle(result: Verdict | Error): void
}

/** A runtime, as the store knows it. */
export interface Identity {
  readonly runtime: number
  readonly server: string
}

/** The identity of this runtime, and what to do when the store no longer accepts it: Registration. */
export interface RuntimeIdentity {
  readonly identity: Identity
  /** The store declared that runtime dead: resolves when this one has another number. */
  onDead(runtime: number): Promise<void>
  /** Whether that runtime is known to be dead: what it wrote may belong to another one by now. */
  isDead(runtime: number): boolean
  /** The server changed: evicts the instances that it does not have, and returns them. */
  onServerChange(): Promise<ReadonlySet<Iid>>
}

const MAX_ITEMS = 500
const BOUNDS = [{ max: MAX_CALL_BYTES, of: bytesOf }]
// How many batches one pass of the loop sends at the most.
const MAX_BATCHES = 100
// Fewer are not worth a batch of their own while more are about to come.
const MIN_AHEAD = 16
/** Beyond this many waiting items, new work has to wait. */
const CROWDED = 4 * MAX_ITEMS

/** Sends what turns decided to the store. */
export class Committer {
  readonly #core: RuntimeCore
  readonly #registration: RuntimeIdentity
  readonly #wake: Notify = notify()
  readonly #room: Notify = notify()
  #queue: Entry[] = []
  #batch: readonly Entry[] = []
  #lastSize = 0
  #woken = false
  #closed = false

  constructor(core: RuntimeCore, registration: RuntimeIdentity) {
    this.#core = core
    this.#registration = registration
  }

  /** Items that wait or are in flight. */
  get size(): number {
    return this.#queue.length + this.#batch.length
  }

  get crowded(): boolean {
    return this.size >= CROWDED
  }

  /**
   * Adds an item; it goes out with the next `flush`, or as soon as half as many have gathered as
   * went out last. So, under load, one half of the instances takes turns while the store writes the
   * other half's, instead of each waiting for the other.
   */
  add(entry: Entry): void {
    if (this.#closed) return entry.settle(closedError())
    this.#queue.push(entry)
    if (this.#queue.length >= Math.max(MIN_AHEAD, this.#lastSize / 2)) this.flush()
  }

  /** Lets what has gathered go. While a batch is in flight, its end does that. */
  flush(): void {
    if (this.#queue.length === 0 || this.#batch.length > 0 || this.#woken) return
    // Once: a wake-up left over would cost the loop a turn at the wrong moment.
    this.#woken = true
    this.#wake.notifyOne()
  }

  /** Waits until there is room for new work. */
  async room(): Promise<void> {
    while (this.crowded) await this.#room.wait()
  }

  /** Takes back every turn that is not in flight: its instance is gone. Starts stay. */
  forgetTurns(): void {
    this.#queue = this.#queue.filter((entry) => entry.start !== undefined)
  }

  /**
   * Takes back every turn, also those in flight, and every start that an instance asked for: what they
   * follow from may be lost.
   */
  forgetAll(): void {
    const all = [...this.#batch, ...this.#queue]
    const gone = all.filter((entry) => !hasOwnCause(entry))
    this.#batch = this.#batch.filter(hasOwnCause)
    this.#queue = this.#queue.filter(hasOwnCause)
    this.#settleEach(
      gone.filter(({ start }) => start !== undefined),
      closedError,
    )
  }

  /** Rejects everything that waits: nothing is sent any more. */
  close(): void {
    this.#closed = true
    const left = [...this.#batch, ...this.#queue]
    this.#batch = this.#queue = []
    this.#room.notifyAll()
    for (const entry of left) entry.settle(closedError())
  }

  /** The loop that sends batches. */
  work(): Worker {
    const { clock, log } = this.#core
    return worker(
      'commits',
      {
        wakeOn: [this.#wake],
        clock,
        log,
        pacing: { min: 0, active: 0, step: 0 },
        backoff: { initial: 20, max: 1_000 },
      },
      () => this.#pass(),
    )
  }

  async #pass(): Promise<Directive> {
    // What gathered meanwhile goes at once: others had their turn while the store was at work.
    for (let sent = 0; sent < MAX_BATCHES; sent++) {
      this.#woken = false
      if (this.#batch.length === 0) this.#batch = this.#take()
      if (this.#batch.length === 0) return idle()
      this.#lastSize = this.#batch.length
      // A throw leaves the batch in place: the worker backs off and sends it again.
      await this.#send(this.#batch)
      this.#batch = []
      if (!this.crowded) this.#room.notifyAll()
    }
    return proceed()
  }

  #take(): readonly Entry[] {
    const count = countWithin(this.#queue, MAX_ITEMS, BOUNDS)
    if (count === this.#queue.length) {
      const all = this.#queue
      this.#queue = []
      return all
    }
    return this.#queue.splice(0, count)
  }

  async #send(entries: readonly Entry[]): Promise<void> {
    const starts = entries.filter((entry) => entry.start !== undefined)
    const turns = entries.filter((entry) => entry.turn !== undefined)
    const { store, clock, time } = this.#core
    const { identity } = this.#registration
    const askedMs = clock.now()
    let answer: CommitAnswer
    try {
      answer = await store.commit({
        ...identity,
        starts: starts.map((entry) => entry.start!),
        turns: turns.map((entry) => entry.turn!),
      })
    } catch (error) {
      if (!(error instanceof StoreError) || error.retryable) throw error
      return this.#halve(entries, error)
    }
    time.saw(answer.clock, askedMs)
    switch (answer.state) {
      case 'ok': {
        // Committed, but under a number that has died since: another runtime owns it, or will.
        const lost = this.#registration.isDead(identity.runtime)
        const verdicts = new Map(starts.map((entry, i) => [entry, answer.starts[i]!]))
        const tried = starts.filter((entry) => verdicts.get(entry) !== 'untried')
        this.#settle(tried, (i) => {
          const verdict = verdicts.get(tried[i]!)!
          return lost && verdict === 'done' && tried[i]!.start!.owned ? 'refused' : verdict
        })
        if (tried.length < starts.length) this.#putBack(starts.filter((e) => !tried.includes(e)))
        this.#settle(turns, (i) => answer.turns[i]!)
        return
      }
      case 'dead':
        this.#settle(turns, () => 'refused')
        await this.#registration.onDead(identity.runtime)
        return this.#again(starts)
      case 'verify': {
        const lost = await this.#registration.onServerChange()
        // Also those that wait behind this batch: they would leave a gap in the history.
        const behind = this.#queue.filter((entry) => entry.turn && lost.has(entry.turn.iid))
        this.#queue = this.#queue.filter((entry) => !behind.includes(entry))
        this.#settleEach(behind, () => 'refused')
        const gone = turns.filter((entry) => lost.has(entry.turn!.iid))
        this.#settle(gone, () => 'refused')
        return this.#again(entries.filter((entry) => !gone.includes(entry)))
      }
    }
  }

  /** Puts entries of this batch into the next one, before all others. */
  #putBack(entries: readonly Entry[]): void {
    const back = this.#batch.filter((entry) => entries.includes(entry))
    this.#batch = this.#batch.filter((entry) => !back.includes(entry))
    this.#queue = [...back, ...this.#queue]
  }

  /** Sends entries again, except those that were settled or taken back while the store was asked. */
  async #again(entries: readonly Entry[]): Promise<void> {
    const left = entries.filter((entry) => this.#batch.includes(entry))
    if (left.length > 0) await this.#send(left)
  }

  async #halve(entries: readonly Entry[], error: StoreError): Promise<void> {
    if (entries.length === 1) return this.#settle(entries, () => error)
    const middle = entries.length >> 1
    await this.#send(entries.slice(0, middle))
    await this.#send(entries.slice(middle))
  }

  /** Settles entries, and takes them out of what would be sent again. */
  #settle(entries: readonly Entry[], result: (i: number) => Verdict | Error): void {
    if (entries.length !== this.#batch.length) {
      const settled = new Set(entries)
      this.#batch = this.#batch.filter((entry) => !settled.has(entry))
    } else {
      this.#batch = []
    }
    this.#settleEach(entries, result)
  }

  #settleEach(entries: readonly Entry[], result: (i: number) => Verdict | Error): void {
    for (let i = 0; i < entries.length; i++) {
      try {
        entries[i]!.settle(result(i))
      } catch (error) {
        // Whatever one of them does, the others are settled.
        this.#core.log.error({ err: error }, 'error after a commit; this is a bug')
      }
    }
  }
}

/** Whether a client asked for it: then it follows from nothing that could be lost. */
function hasOwnCause({ start }: Entry): boolean {
  return start !== undefined && start.parent === null
}

function bytesOf({ start, turn }: Entry): number {
  return start === undefined ? bytesOfTurn(turn!) : bytesOfStart(start)
}

function closedError(): StoreError {
  return new StoreError('closed', 'commit', 'the runtime is closed')
}
