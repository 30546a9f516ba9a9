// Group commit: every item that is ready, of all instances, goes to the store as one call.
//
//   One batch is in flight at a time; meanwhile the next one fills. No timer delays anything.
//   An instance has at most one item here: it waits for the verdict before its next turn.
//   A batch whose outcome is unknown is sent again, unchanged; the store recognises it.
//   Items that the store did not try, because others of the batch were locked, join the next batch.
//   A batch that the store rejects is split until the bad item is alone; the others go through.

import { BatchSplitter } from '../../../base/sync/batch-splitter.ts'
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
  /** Called once: with the verdict, or with the error that it caused alone. */
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

/** Claims what a commit has made due: the WorkFinder. */
export interface WokenTaker {
  /** These are due now, and no runtime owns them. */
  woken(iids: readonly Iid[]): void
}

const MAX_ITEMS = 500
const BOUNDS = [{ max: MAX_CALL_BYTES, of: bytesOf }]
// How many batches one pass of the loop sends at the most.
const MAX_BATCHES = 100
// Fewer are not worth a batch of their own while more are coming.
const MIN_AHEAD = 16
/** Beyond this many waiting items, new work has to wait. */
const CROWDED = 4 * MAX_ITEMS

/** Sends what turns decided to the store. */
export class Committer {
  readonly #core: RuntimeCore
  readonly #registration: RuntimeIdentity
  readonly #wake: Notify = notify()
  readonly #room: Notify = notify()
  #finder: WokenTaker | undefined
  #queue: Entry[] = []
  /** Taken from the queue, and not settled. */
  #batch = new Set<Entry>()
  #lastSize = 0
  #woken = false
  #closed = false

  constructor(core: RuntimeCore, registration: RuntimeIdentity) {
    this.#core = core
    this.#registration = registration
  }

  /** Connects what is built later, and claims what commits have made due. */
  reportTo(finder: WokenTaker): void {
    this.#finder = finder
  }

  /** Items that wait or are in flight. */
  get size(): number {
    return this.#queue.length + this.#batch.size
  }

  get crowded(): boolean {
    return this.size >= CROWDED
  }

  /**
   * Adds an item. It is sent with the next `flush`, or as soon as half as many have gathered as the last
   * batch had. So, under load, one half of the instances takes turns while the store writes the other
   * half, instead of each waiting for the other.
   */
  add(entry: Entry): void {
    if (this.#closed) return entry.settle(closedError())
    this.#queue.push(entry)
    if (this.#queue.length >= Math.max(MIN_AHEAD, this.#lastSize / 2)) this.flush()
  }

  /** Sends what has gathered. While a batch is in flight, its end does that. */
  flush(): void {
    if (this.#queue.length === 0 || this.#batch.size > 0 || this.#woken) return
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
   * Takes back every turn, even those in flight, and every start that an instance asked for: the store
   * may have lost what they depend on.
   */
  forgetAll(): void {
    const gone = [...this.#batch, ...this.#queue].filter((entry) => !hasOwnCause(entry))
    this.#queue = this.#queue.filter(hasOwnCause)
    for (const entry of gone) this.#batch.delete(entry)
    for (const entry of gone) if (entry.start !== undefined) this.#settle(entry, closedError())
  }

  /** Rejects everything that waits, and sends nothing more. */
  close(): void {
    this.#closed = true
    const left = [...this.#batch, ...this.#queue]
    this.#batch.clear()
    this.#queue = []
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
    // What gathered goes at once: other instances took their turns while the store was writing.
    for (let sent = 0; sent < MAX_BATCHES; sent++) {
      this.#woken = false
      if (this.#batch.size === 0) {
        const count = countWithin(this.#queue, MAX_ITEMS, BOUNDS)
        this.#batch = new Set(this.#queue.splice(0, count))
      }
      if (this.#batch.size === 0) return idle()
      this.#lastSize = this.#batch.size
      try {
        await this.#send()
      } catch (error) {
        // What is not settled stays in the batch. It is sent again: after a wait if nothing of this
        // pass succeeded, so that single failures among successes do not add up to long waits.
        if (sent === 0) throw error
        this.#core.log.warn({ err: error }, 'commit failed; sending it again')
        return proceed()
      }
      // The store did not try these, because others of the batch were locked.
      if (this.#batch.size > 0) this.#queue = [...this.#batch, ...this.#queue]
      this.#batch.clear()
      if (!this.crowded) this.#room.notifyAll()
    }
    return proceed()
  }

  /** Sends the batch. What is settled, or taken back meanwhile, leaves it. */
  async #send(): Promise<void> {
    const { store, clock, time, meter } = this.#core
    const parts = new BatchSplitter([...this.#batch])
    for (const part of parts) {
      const starts: Entry[] = []
      const turns: Entry[] = []
      for (const entry of part) {
        if (this.#batch.has(entry)) (entry.start === undefined ? turns : starts).push(entry)
      }
      if (starts.length + turns.length === 0) continue
      const { identity } = this.#registration
      const askedMs = clock.now()
      let answer: CommitAnswer
      try {
        answer = await store.commit({
          ...identity,
          starts: starts.map(({ start }) => start!),
          turns: turns.map(({ turn }) => turn!),
        })
      } catch (error) {
        if (!(error instanceof StoreError) || error.retryable) throw error
        if (!parts.split(part)) this.#settle(part[0]!, error)
        continue
      }
      time.saw(answer.clock, askedMs)
      switch (answer.state) {
        case 'ok': {
          meter?.committed(clock.now() - askedMs, starts.length + turns.length)
          // Committed, but under a number that has died since: another runtime owns it, or will.
          const lost = this.#registration.isDead(identity.runtime)
          for (const [i, entry] of starts.entries()) {
            const verdict = answer.starts[i]!
            const isLost = lost && verdict === 'done' && entry.start!.owned
            if (verdict !== 'untried') this.#settle(entry, isLost ? 'refused' : verdict)
          }
          for (const [i, entry] of turns.entries()) this.#settle(entry, answer.turns[i]!)
          if (answer.woken !== undefined) this.#finder?.woken(answer.woken)
          break
        }
        case 'dead':
          for (const entry of turns) this.#settle(entry, 'refused')
          await this.#registration.onDead(identity.runtime)
          parts.again(part)
          break
        case 'verify':
          this.#refuseLost(await this.#registration.onServerChange())
          parts.again(part)
      }
    }
  }

  /** The server has lost these instances: their turns would leave a gap in the history. */
  #refuseLost(lost: ReadonlySet<Iid>): void {
    const isLost = ({ turn }: Entry): boolean => turn !== undefined && lost.has(turn.iid)
    const behind = this.#queue.filter(isLost)
    this.#queue = this.#queue.filter((entry) => !isLost(entry))
    for (const entry of [...behind, ...this.#batch]) {
      if (isLost(entry)) this.#settle(entry, 'refused')
    }
  }

  /** Settles an entry, which is then not sent again. */
  #settle(entry: Entry, result: Verdict | Error): void {
    this.#batch.delete(entry)
    if (result !== 'done') this.#core.meter?.notTaken(result)
    try {
      entry.settle(result)
    } catch (error) {
      // An error of one must not keep the others from being settled.
      this.#core.log.error({ err: error }, 'error after a commit; this is a bug')
    }
  }
}

/** Whether a client asked for it, so that it depends on nothing that could be lost. */
function hasOwnCause({ start }: Entry): boolean {
  return start !== undefined && start.parent === null
}

function bytesOf({ start, turn }: Entry): number {
  return start === undefined ? bytesOfTurn(turn!) : bytesOfStart(start)
}

function closedError(): StoreError {
  return new StoreError('closed', 'commit', 'the runtime is closed')
}
