import type { Timer } from '../../../base/time/clock.ts'
import type { RuntimeCore } from '../core/runtime-core.ts'
import type { ActivityCall } from './activity-call.ts'

// An aborted call keeps its slot this long while its code still runs; then another call gets it.
const GRACE_MS = 10_000

/** Runs a call once it has a slot. */
export interface Performer {
  /** Never rejects. Returns `undefined` when the call has already ended. */
  perform(call: ActivityCall): Promise<void> | undefined
}

/** A call that waits for a slot. */
interface Waiting {
  readonly call: ActivityCall
  readonly performer: Performer
  /** By the process's clock. */
  readonly since: number
}

/** Receives free slots. */
export interface SlotWatcher {
  /** A slot is free, and no call waits for it. */
  slotFreed(): void
}

/** Runs a limited number of calls at once. Others wait in the order in which they came. */
export class Slots {
  readonly #core: RuntimeCore
  readonly #max: number
  #watcher!: SlotWatcher
  #queue: Waiting[] = []
  /** Calls before this index have left the queue. */
  #head = 0
  #running = 0
  /** Timers of aborted calls whose code still runs. */
  readonly #graces = new Set<Timer>()
  #closed = false

  constructor(core: RuntimeCore, max: number) {
    this.#core = core
    this.#max = max
  }

  reportTo(watcher: SlotWatcher): void {
    this.#watcher = watcher
  }

  /** Running now. */
  get running(): number {
    return this.#running
  }

  /** How many calls wait for a slot. */
  get waiting(): number {
    return this.#queue.length - this.#head
  }

  /** How many more calls could run now. */
  get free(): number {
    return this.#max - this.#running
  }

  /** Whether no call waits, and at most half of the slots are taken. */
  get idle(): boolean {
    return this.#head === this.#queue.length && this.#running <= this.#max / 2
  }

  /** Runs a call, at once or when a slot is free. */
  run(call: ActivityCall, performer: Performer): void {
    if (this.#running < this.#max) {
      if (!this.#occupy(call, performer)) this.#startNext()
    } else this.#queue.push({ call, performer, since: this.#core.clock.now() })
  }

  /** Calls that have waited for at least `ms`, the longest first. */
  waitingFor(ms: number): ActivityCall[] {
    const before = this.#core.clock.now() - ms
    const waiting = this.#queue.slice(this.#head)
    const young = waiting.findIndex(({ since }) => since > before)
    return (young < 0 ? waiting : waiting.slice(0, young)).map(({ call }) => call)
  }

  /** Removes and returns all calls that wait, and stops to watch aborted ones. */
  close(): readonly ActivityCall[] {
    this.#closed = true
    for (const timer of this.#graces) timer.cancel()
    const left = this.#queue.slice(this.#head).map(({ call }) => call)
    this.#queue = []
    this.#head = 0
    return left
  }

  /** The signal of a call that has a slot was aborted. */
  aborted(call: ActivityCall): void {
    // Aborted again: its grace runs from the first time.
    if (call.onOver !== undefined || this.#closed) return
    const { clock, log } = this.#core
    const timer = clock.after(GRACE_MS, () => {
      if (call.slots !== this) return
      log.warn(
        call.keys,
        `activity did not stop within ${GRACE_MS} ms of its abort signal; freeing its slot`,
      )
      this.#makeRoom(call)
    })
    this.#graces.add(timer)
    call.onOver = () => {
      timer.cancel()
      this.#graces.delete(timer)
    }
  }

  /** Gives a call a slot. Returns false when it has already left it again. */
  #occupy(call: ActivityCall, performer: Performer): boolean {
    this.#running++
    call.slots = this
    const performing = performer.perform(call)
    if (performing === undefined) return !this.#leave(call)
    void performing.then(() => this.#performed(call))
    return true
  }

  #performed(call: ActivityCall): void {
    // Code that still runs after it was aborted keeps its slot: see `aborted`.
    if (call.left !== undefined) void call.left.catch(() => {}).then(() => this.#makeRoom(call))
    else this.#makeRoom(call)
  }

  #makeRoom(call: ActivityCall): void {
    if (this.#leave(call)) this.#startNext()
  }

  /** Takes its slot from a call. Returns false when it has none. */
  #leave(call: ActivityCall): boolean {
    if (call.slots !== this) return false
    call.slots = undefined
    call.onOver?.()
    this.#running--
    return true
  }

  #startNext(): void {
    // A loop, not a recursion: thousands may have become unwanted at once.
    while (this.#head < this.#queue.length) {
      const { call, performer } = this.#queue[this.#head++]!
      if (this.#head > 1_000 && this.#head > this.#queue.length / 2) {
        this.#queue = this.#queue.slice(this.#head)
        this.#head = 0
      }
      if (call.wanted && this.#occupy(call, performer)) return
    }
    this.#watcher.slotFreed()
  }
}
