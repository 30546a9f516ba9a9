// Which partitions of a topic have something to deliver, and which of them comes next.
//
//   - The one that has waited longest comes first.
//   - A partition that is being delivered is not handed out again. If it is marked meanwhile, it comes back
//     when it is given back: a message that was committed after the last read is never forgotten.
//   - After an error a partition cools down, for longer each time, whatever is marked meanwhile. A partition
//     that waits for an open transaction comes back sooner, or at once when it is marked.
//   - One timer for all of them.

import { Heap } from '../base/heap.ts'
import { PermitNotify } from '../base/sync/notify.ts'
import { backoffMs, type ResolvedBackoff, resolveBackoff } from '../base/time/backoff.ts'
import type { Clock, Timer } from '../base/time/clock.ts'

const ERROR_BACKOFF = resolveBackoff('outbox', { initial: 200, max: '30s', jitter: 0.1 })
const BLOCKED_BACKOFF = resolveBackoff('outbox', { initial: 4, max: '5s', jitter: 0.2 })
const FORGET_ERRORS_MS = 300_000

interface Trouble {
  readonly count: number
  readonly atMs: number
}

/** What becomes of a partition that was handed out. */
export interface PartitionGuard {
  readonly partition: number
  /** It has nothing more to deliver, or something at a later time. */
  processed(dueInMs?: number): void
  /** There is more to deliver: it goes behind the others. */
  more(): void
  /** Nothing was done, and nothing was wrong: it keeps its place. */
  skipped(): void
  /** It waits for a transaction that is still open; `hadMessages` if something was read before. */
  blocked(hadMessages: boolean): void
  /** It failed. Returns how long it cools down. */
  failed(): number
}

/** The partitions of one topic that have something to deliver. */
export class DirtyPartitions {
  /** Wakes one worker for each partition that is ready. */
  readonly ready = new PermitNotify()
  readonly #clock: Clock
  readonly #random: () => number
  /** When each may be handed out. */
  readonly #pending = new Heap<number>()
  /** Of those that must not be handed out sooner, whatever marks them. */
  readonly #cooling = new Set<number>()
  /** Those that were handed out, and for when they were marked since; `Infinity` if they were not. */
  readonly #claimed = new Map<number, number>()
  readonly #errors = new Map<number, Trouble>()
  readonly #blocked = new Map<number, Trouble>()
  #timer: Timer | undefined
  #timerAtMs = Infinity
  #sweptMs = 0

  constructor(clock: Clock, random: () => number = Math.random) {
    this.#clock = clock
    this.#random = random
  }

  /** How many wait to be handed out. */
  get size(): number {
    return this.#pending.size
  }

  /** How many are handed out. */
  get claimed(): number {
    return this.#claimed.size
  }

  /** Those that could be handed out now. */
  waiting(): readonly number[] {
    const nowMs = this.#clock.now()
    return this.#pending.keysUpTo(nowMs)
  }

  /** There may be something to deliver, now or in a while. */
  mark(partition: number, inMs = 0): void {
    const atMs = this.#clock.now() + Math.max(0, inMs)
    const marked = this.#claimed.get(partition)
    if (marked !== undefined) {
      this.#claimed.set(partition, Math.min(marked, atMs))
      return
    }
    if (this.#cooling.has(partition)) return
    this.#pending.add(partition, atMs)
    this.#wake()
  }

  /** There may be something to deliver behind a transaction that is still open: not at once, but soon. */
  markBlocked(partition: number): void {
    if (this.#claimed.has(partition) || this.#cooling.has(partition)) return
    const count = Math.max(1, this.#blocked.get(partition)?.count ?? 1)
    this.#pending.add(
      partition,
      this.#clock.now() + backoffMs(BLOCKED_BACKOFF, count, this.#random),
    )
    this.#wake()
  }

  /** Hands out the partition that has waited longest, or none. */
  take(): PartitionGuard | undefined {
    const nowMs = this.#clock.now()
    this.#sweep(nowMs)
    const first = this.#pending.peek()
    if (first === undefined || first.at > nowMs) {
      this.#wake()
      return undefined
    }
    this.#pending.delete(first.key)
    this.#cooling.delete(first.key)
    this.#claimed.set(first.key, Infinity)
    this.#wake()
    return this.#guard(first.key, first.at)
  }

  /** Ends the timer. */
  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#timerAtMs = Infinity
  }

  #guard(partition: number, sinceMs: number): PartitionGuard {
    /** Gives it back. Returns for when it was marked meanwhile. */
    const release = (): number => {
      const markedMs = this.#claimed.get(partition) ?? Infinity
      this.#claimed.delete(partition)
      return markedMs
    }
    const at = (ms: number): void => {
      if (ms === Infinity) return
      this.#pending.add(partition, ms)
      this.#wake()
    }
    const trouble = (of: Map<number, Trouble>, backoff: ResolvedBackoff): number => {
      const nowMs = this.#clock.now()
      const count = (of.get(partition)?.count ?? 0) + 1
      of.set(partition, { count, atMs: nowMs })
      return Math.ceil(backoffMs(backoff, count, this.#random))
    }
    return {
      partition,
      processed: (dueInMs) => {
        this.#errors.delete(partition)
        this.#blocked.delete(partition)
        at(Math.min(release(), this.#clock.now() + (dueInMs ?? Infinity)))
      },
      more: () => {
        this.#errors.delete(partition)
        this.#blocked.delete(partition)
        release()
        at(this.#clock.now())
      },
      skipped: () => {
        release()
        at(sinceMs)
      },
      blocked: (hadMessages) => {
        this.#errors.delete(partition)
        if (hadMessages) this.#blocked.delete(partition)
        const ms = trouble(this.#blocked, BLOCKED_BACKOFF)
        at(Math.min(release(), this.#clock.now() + ms))
      },
      failed: () => {
        release()
        const ms = trouble(this.#errors, ERROR_BACKOFF)
        this.#cooling.add(partition)
        at(this.#clock.now() + ms)
        return ms
      },
    }
  }

  /** Wakes a worker now, or when the next one is ready. */
  #wake(): void {
    const first = this.#pending.peek()
    if (first === undefined) return
    const inMs = first.at - this.#clock.now()
    if (inMs <= 0) return this.ready.notifyOne()
    if (first.at >= this.#timerAtMs) return
    this.#timer?.cancel()
    this.#timerAtMs = first.at
    this.#timer = this.#clock.after(inMs, () => {
      this.#timer = undefined
      this.#timerAtMs = Infinity
      this.#wake()
    })
  }

  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < 60_000) return
    this.#sweptMs = nowMs
    for (const of of [this.#errors, this.#blocked]) {
      for (const [partition, { atMs }] of of) {
        if (nowMs - atMs > FORGET_ERRORS_MS) of.delete(partition)
      }
    }
  }
}
