// Group commit: every item that is ready, of all instances, goes to the store as one call.
//
//   G1. One batch is under way at a time; meanwhile the next one fills. No timer delays anything.
//   G2. An instance has at most one item in all this: it waits for its verdict before the next turn.
//   G3. A batch whose outcome is unknown is sent again, unchanged; the store recognises it.
//   G4. What the store did not try, since others of the batch were locked, goes with the next batch.
//   G5. A batch that the store rejects is halved until the bad item is alone; the others go through.

import { countWithin } from '../../../base/sync/count-within.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { Logger } from '../../../base/log.ts'
import { type Notify, notify } from '../../../base/sync/notify.ts'
import type { CommitAnswer, StartItem, TurnItem, Verdict } from '../../../store/commits.ts'
import type { Iid } from '../../../store/instances.ts'
import { bytesOfStart, bytesOfTurn, MAX_CALL_BYTES } from '../../../store/sizes.ts'
import { StoreError } from '../../../store/store-error.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import { type Directive, idle, proceed } from '../../../workers/directive.ts'
import { worker, type Worker } from '../../../workers/worker.ts'

/** Something to be committed, and who wants to know. */
export interface Entry {
  /** Exactly one of the two is there. */
  readonly start?: StartItem
  readonly turn?: TurnItem
  /** Called once: with what became of it, or with the error that it met alone. */
  settle(result: Verdict | Error): void
}

/** Who this runtime is, as the store knows it. */
export interface Identity {
  readonly runtime: number
  readonly server: string
}

/** What the committer needs of its runtime. */
export interface CommitHost {
  readonly store: WorkflowStore
  readonly clock: Clock
  readonly log: Logger
  identity(): Identity
  /** An answer carried the store's time; it was asked for at `askedMs` of the process's clock. */
  sawTime(ms: number, askedMs: number): void
  /** That runtime was declared dead: comes back alive under another number, without its copies. */
  onDead(runtime: number): Promise<void>
  /** Whether that runtime is known to be dead: what it was told before may be somebody else's by now. */
  isDead(runtime: number): boolean
  /** The server is another one: drops the copies it does not have, and names them. */
  onServerChange(): Promise<ReadonlySet<Iid>>
}

const MOST_ITEMS = 500
const BOUNDS = [{ max: MAX_CALL_BYTES, of: bytesOf }]
// How many batches one pass of the loop sends at the most.
const MOST_BATCHES = 100
// Fewer are not worth a batch of their own while more are about to come.
const FEWEST_AHEAD = 16
/** Beyond this many waiting items, new work is held back. */
const CROWDED = 4 * MOST_ITEMS

/** Sends what turns decided to the store. */
export class Committer {
  readonly #host: CommitHost
  readonly #wake: Notify = notify()
  readonly #room: Notify = notify()
  #queue: Entry[] = []
  #batch: readonly Entry[] = []
  #lastSize = 0
  #woken = false
  #closed = false

  constructor(host: CommitHost) {
    this.#host = host
  }

  /** Items that wait or are under way. */
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
    if (this.#queue.length >= Math.max(FEWEST_AHEAD, this.#lastSize / 2)) this.flush()
  }

  /** Lets what has gathered go. While a batch is under way, its end does that. */
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

  /** Takes back every turn that is not under way: its copy is gone. Starts stay. */
  forgetTurns(): void {
    this.#queue = this.#queue.filter((entry) => entry.start !== undefined)
  }

  /**
   * Takes back every turn, also what is under way, and every start that an instance asked for: what
   * they follow from may not be there any more.
   */
  forgetAll(): void {
    const all = [...this.#batch, ...this.#queue]
    const gone = all.filter((entry) => !hasOwnCause(entry))
    this.#batch = this.#batch.filter(hasOwnCause)
    this.#queue = this.#queue.filter(hasOwnCause)
    this.#tell(
      gone.filter(({ start }) => start !== undefined),
      closedError,
    )
  }

  /** Tells everybody who still waits that nothing is sent any more. */
  close(): void {
    this.#closed = true
    const left = [...this.#batch, ...this.#queue]
    this.#batch = this.#queue = []
    this.#room.notifyAll()
    for (const entry of left) entry.settle(closedError())
  }

  /** The loop that sends batches. */
  work(): Worker {
    const { clock, log } = this.#host
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
    for (let sent = 0; sent < MOST_BATCHES; sent++) {
      this.#woken = false
      if (this.#batch.length === 0) this.#batch = this.#take()
      if (this.#batch.length === 0) return idle()
      this.#lastSize = this.#batch.length
      // A throw leaves the batch in place: the worker backs off and it is sent again (G3).
      await this.#send(this.#batch)
      this.#batch = []
      if (!this.crowded) this.#room.notifyAll()
    }
    return proceed()
  }

  #take(): readonly Entry[] {
    const count = countWithin(this.#queue, MOST_ITEMS, BOUNDS)
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
    const identity = this.#host.identity()
    const askedMs = this.#host.clock.now()
    let answer: CommitAnswer
    try {
      answer = await this.#host.store.commit({
        ...identity,
        starts: starts.map((entry) => entry.start!),
        turns: turns.map((entry) => entry.turn!),
      })
    } catch (error) {
      if (!(error instanceof StoreError) || error.retryable) throw error
      return this.#halve(entries, error)
    }
    this.#host.sawTime(answer.clock, askedMs)
    switch (answer.state) {
      case 'ok': {
        // Recorded, but under a number that has died since: somebody else owns it, or will.
        const lost = this.#host.isDead(identity.runtime)
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
        await this.#host.onDead(identity.runtime)
        return this.#again(starts)
      case 'verify': {
        const lost = await this.#host.onServerChange()
        // Also those that wait behind this batch: they would leave a gap in the history.
        const behind = this.#queue.filter((entry) => entry.turn && lost.has(entry.turn.iid))
        this.#queue = this.#queue.filter((entry) => !behind.includes(entry))
        this.#tell(behind, () => 'refused')
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

  async #again(entries: readonly Entry[]): Promise<void> {
    if (entries.length > 0) await this.#send(entries)
  }

  async #halve(entries: readonly Entry[], error: StoreError): Promise<void> {
    if (entries.length === 1) return this.#settle(entries, () => error)
    const middle = entries.length >> 1
    await this.#send(entries.slice(0, middle))
    await this.#send(entries.slice(middle))
  }

  /** Tells those concerned, and takes them out of what would be sent again. */
  #settle(entries: readonly Entry[], result: (i: number) => Verdict | Error): void {
    if (entries.length !== this.#batch.length) {
      const settled = new Set(entries)
      this.#batch = this.#batch.filter((entry) => !settled.has(entry))
    } else {
      this.#batch = []
    }
    this.#tell(entries, result)
  }

  #tell(entries: readonly Entry[], result: (i: number) => Verdict | Error): void {
    for (let i = 0; i < entries.length; i++) {
      try {
        entries[i]!.settle(result(i))
      } catch (error) {
        // Whatever one of them does, the others have to be told.
        this.#host.log.error({ err: error }, 'a committed item could not be followed up')
      }
    }
  }
}

/** Whether a client asked for it: then it follows from nothing that has to be recorded. */
function hasOwnCause({ start }: Entry): boolean {
  return start !== undefined && start.parent === null
}

function bytesOf({ start, turn }: Entry): number {
  return start === undefined ? bytesOfTurn(turn!) : bytesOfStart(start)
}

function closedError(): StoreError {
  return new StoreError('closed', 'commit', 'the runtime is closed')
}
