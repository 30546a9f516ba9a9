// Starts and messages whose id another transaction has locked: each waits by itself for the end of
// that transaction, and nothing else waits for them.
//
//   B1. The store did nothing about them, so each can be sent again, or withdrawn while it is not
//       under way.
//   B2. What concerns one id stays in the order of the calls.
//   B3. One call is under way at a time, with a few ids, and the next follows after a pause: however
//       many wait, they use one connection, for a part of the time.

import { backoffMs, resolveBackoff } from '../../base/time/backoff.ts'
import type { Clock, Timer } from '../../base/time/clock.ts'
import { type Bound, countWithin } from '../../base/sync/count-within.ts'
import type { Logger } from '../../base/log.ts'
import { type Abortable, onAbort } from '../../base/sync/on-abort.ts'

const RETRY = resolveBackoff('blocked', { initial: 10, max: 1_000 })
// Each id that is still locked costs a call more than a millisecond.
const MAX_IDS = 8
const MAX_PER_ID = 100
const PAUSE_MS = 10
/** How soon what was found to be locked is tried again when something else has become free. */
const SOON_MS = 50
/** What is blocked for a moment, by somebody who is just committing, is nothing to speak of. */
const LOG_AFTER_MS = 1_000

/** What is needed to send again what was blocked. */
export interface BlockedHost<Item, Answer> {
  readonly clock: Clock
  readonly log: Logger
  /** What the items are, for the log: `start` or `message`. */
  readonly what: string
  readonly random: () => number
  idOf(item: Item): string
  bytesOf(item: Item): number
  /** One answer for each, in order. */
  send(items: readonly Item[]): Promise<readonly Answer[]>
  isLocked(answer: Answer): boolean
  /** Whether the call had no time left for it. */
  isUntried(answer: Answer): boolean
  /** Whether what was sent is sent again after such a failure. Otherwise it is told of the failure. */
  isKeptAfter?(error: unknown): boolean
}

interface Entry<Item, Answer> {
  readonly item: Item
  readonly signal: Abortable | undefined
  stopListening: (() => void) | undefined
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** All that waits for one id. */
interface Line<Item, Answer> {
  readonly id: string
  readonly sinceMs: number
  entries: Entry<Item, Answer>[]
  tries: number
  /** When it was tried last. */
  triedMs: number
  dueMs: number
  isLogged: boolean
}

/** Sends what another transaction blocks again and again, until it goes through. */
export class Blocked<Item, Answer> {
  readonly #host: BlockedHost<Item, Answer>
  readonly #bounds: readonly Bound<Entry<Item, Answer>>[]
  readonly #lines = new Map<string, Line<Item, Answer>>()
  #underWay = new Set<Entry<Item, Answer>>()
  #timer: Timer | undefined
  #isSending = false
  #pauseUntilMs = 0
  #closed: Error | undefined

  constructor(host: BlockedHost<Item, Answer>, maxBytes: number) {
    this.#host = host
    this.#bounds = [{ max: maxBytes / MAX_IDS, of: ({ item }) => host.bytesOf(item) }]
  }

  /** How many items wait. */
  get size(): number {
    let size = 0
    for (const { entries } of this.#lines.values()) size += entries.length
    return size
  }

  /** Whether something waits for this id, so that what comes later has to wait behind it. */
  has(id: string): boolean {
    return this.#lines.has(id)
  }

  /** The first answer that is not "locked". Rejects with the reason of the signal when that comes first. */
  wait(item: Item, signal?: Abortable): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return reject(this.#closed)
      if (signal?.aborted) return reject(signal.reason)
      const entry: Entry<Item, Answer> = { item, signal, stopListening: undefined, resolve, reject }
      this.#lineOf(this.#host.idOf(item)).entries.push(entry)
      entry.stopListening = signal && onAbort(signal, () => this.#withdraw(entry))
      this.#schedule()
    })
  }

  /** Takes back what is not wanted any more. What is under way may still be done. */
  forget(isUnwanted: (item: Item) => boolean, error: () => Error): void {
    for (const { entries } of this.#lines.values()) {
      for (const entry of entries) if (isUnwanted(entry.item)) this.#settle(entry, error())
    }
  }

  /** Tells everybody who waits that nothing is sent any more. */
  close(error: Error): void {
    this.#closed = error
    this.#timer?.cancel()
    this.forget(
      () => true,
      () => error,
    )
  }

  #lineOf(id: string): Line<Item, Answer> {
    let line = this.#lines.get(id)
    if (line === undefined) {
      const now = this.#host.clock.now()
      // It was found to be locked just now.
      line = { id, sinceMs: now, entries: [], tries: 1, triedMs: now, dueMs: now, isLogged: false }
      line.dueMs += this.#delayMs(line)
      this.#lines.set(id, line)
    }
    return line
  }

  #delayMs({ tries }: Line<Item, Answer>): number {
    return backoffMs(RETRY, tries, this.#host.random)
  }

  #schedule(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#isSending || this.#closed !== undefined || this.#lines.size === 0) return
    let nextMs = Infinity
    for (const { dueMs } of this.#lines.values()) nextMs = Math.min(nextMs, dueMs)
    const { clock } = this.#host
    const delayMs = Math.max(nextMs, this.#pauseUntilMs) - clock.now()
    this.#timer = clock.after(Math.max(delayMs, 0), () => void this.#sendDue())
  }

  async #sendDue(): Promise<void> {
    const { clock } = this.#host
    const lines = this.#due(clock.now())
    const entries = lines.flatMap((line) => this.#headOf(line))
    // All that was due has been withdrawn.
    if (entries.length === 0) return this.#schedule()
    this.#isSending = true
    this.#underWay = new Set(entries)
    const untried = new Set<Entry<Item, Answer>>()
    let isAnyFree = false
    try {
      const answers = await this.#host.send(entries.map(({ item }) => item))
      entries.forEach((entry, i) => {
        const answer = answers[i]!
        if (this.#host.isUntried(answer)) untried.add(entry)
        else if (!this.#host.isLocked(answer)) isAnyFree = true
        this.#answered(entry, answer)
      })
    } catch (error) {
      const isKept = this.#host.isKeptAfter?.(error) === true
      for (const entry of entries) {
        if (!isKept) this.#settle(entry, error)
        else if (entry.signal?.aborted === true) this.#settle(entry, entry.signal.reason)
      }
    } finally {
      this.#isSending = false
      this.#underWay.clear()
    }
    const now = clock.now()
    this.#pauseUntilMs = now + PAUSE_MS
    const tried = new Set(entries.filter((entry) => !untried.has(entry)))
    for (const line of lines) this.#rest(line, tried, now)
    // The same transaction may have locked the others, too, and has ended.
    if (isAnyFree) {
      for (const line of this.#lines.values()) {
        if (lines.includes(line)) continue
        line.dueMs = Math.min(line.dueMs, Math.max(now, line.triedMs + SOON_MS))
      }
    }
    this.#schedule()
  }

  /** Those whose last try is longest ago: nobody is passed over for the sake of who came earlier. */
  #due(now: number): Line<Item, Answer>[] {
    return [...this.#lines.values()]
      .filter(({ dueMs }) => dueMs <= now)
      .toSorted((a, b) => a.triedMs - b.triedMs)
      .slice(0, MAX_IDS)
  }

  #headOf({ entries }: Line<Item, Answer>): readonly Entry<Item, Answer>[] {
    return entries.slice(0, countWithin(entries, MAX_PER_ID, this.#bounds))
  }

  #answered(entry: Entry<Item, Answer>, answer: Answer): void {
    const isOpen = this.#host.isLocked(answer) || this.#host.isUntried(answer)
    if (!isOpen) return this.#take(entry)?.resolve(answer)
    if (entry.signal?.aborted === true) this.#settle(entry, entry.signal.reason)
  }

  /** Whether it is tried again later, at once, or not any more. */
  #rest(line: Line<Item, Answer>, tried: ReadonlySet<Entry<Item, Answer>>, now: number): void {
    const [first] = line.entries
    if (first === undefined) return
    if (!tried.has(first)) {
      line.tries = 1
      line.dueMs = now
      return
    }
    line.tries++
    line.triedMs = now
    line.dueMs = now + this.#delayMs(line)
    if (line.isLogged || now - line.sinceMs < LOG_AFTER_MS) return
    line.isLogged = true
    const { log, what } = this.#host
    log.warn(
      { instanceId: line.id },
      `${what} blocked: another transaction has locked this id; retrying`,
    )
  }

  #withdraw(entry: Entry<Item, Answer>): void {
    // The answer decides what has become of one that is under way.
    if (!this.#underWay.has(entry)) this.#settle(entry, entry.signal!.reason)
  }

  #settle(entry: Entry<Item, Answer>, error: unknown): void {
    this.#take(entry)?.reject(error)
  }

  /** The entry, unless somebody else has settled it. */
  #take(entry: Entry<Item, Answer>): Entry<Item, Answer> | undefined {
    const id = this.#host.idOf(entry.item)
    const line = this.#lines.get(id)
    const place = line?.entries.indexOf(entry) ?? -1
    if (place < 0) return undefined
    entry.stopListening?.()
    line!.entries = line!.entries.toSpliced(place, 1)
    if (line!.entries.length === 0) this.#lines.delete(id)
    return entry
  }
}
