// Retries starts and messages whose instance id another transaction has locked, so that nothing else
// has to wait for that transaction.
//
//   - The store has done nothing for them yet, so each can be sent again, or withdrawn while it is not
//     being sent.
//   - Items for the same id keep the order of the calls.
//   - One call at a time sends a few ids, with a pause between calls: however many items wait, they
//     occupy one connection part of the time.

import { backoffMs, resolveBackoff } from '../../base/time/backoff.ts'
import type { Clock, Timer } from '../../base/time/clock.ts'
import { type Bound, countWithin } from '../../base/sync/count-within.ts'
import type { Logger } from '../../base/log.ts'
import { type Abortable, onAbort } from '../../base/sync/on-abort.ts'

const RETRY = resolveBackoff('blocked', { initial: 10, max: 1_000 })
// Each id that is still locked adds more than a millisecond to a call.
const MAX_IDS = 8
const MAX_PER_ID = 100
const PAUSE_MS = 10
/** The shortest time between two tries of an id when another id has just become free. */
const SOON_MS = 50
/** A lock that lasts only until another process has committed is not worth a log line. */
const LOG_AFTER_MS = 1_000

/** How to send items, and how to read the answers. */
export interface BlockedHost<Item, Answer> {
  readonly clock: Clock
  readonly log: Logger
  /** What an item is, for log lines: `start` or `message`. */
  readonly what: string
  readonly random: () => number
  idOf(item: Item): string
  bytesOf(item: Item): number
  /** Returns one answer for each item, in order. */
  send(items: readonly Item[]): Promise<readonly Answer[]>
  isLocked(answer: Answer): boolean
  /** Whether the call ran out of time before it tried the item. */
  isUntried(answer: Answer): boolean
  /** Whether to keep the items after this error and send them again. Otherwise they reject with it. */
  isKeptAfter?(error: unknown): boolean
}

interface Entry<Item, Answer> {
  readonly item: Item
  readonly signal: Abortable | undefined
  stopListening: (() => void) | undefined
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** The items that wait for one id. */
interface Line<Item, Answer> {
  readonly id: string
  readonly sinceMs: number
  entries: Entry<Item, Answer>[]
  tries: number
  /** When the id was last tried. */
  triedMs: number
  dueMs: number
  isLogged: boolean
}

/** Sends items that another transaction blocks again, until they go through. */
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

  /** Whether an item waits for this id, so that later ones have to queue behind it. */
  has(id: string): boolean {
    return this.#lines.has(id)
  }

  /** Resolves with the first answer other than "locked". Rejects with the signal's reason when it aborts. */
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

  /** Withdraws items that are no longer wanted. An item that is being sent may still take effect. */
  forget(isUnwanted: (item: Item) => boolean, error: () => Error): void {
    for (const { entries } of this.#lines.values()) {
      for (const entry of entries) if (isUnwanted(entry.item)) this.#settle(entry, error())
    }
  }

  /** Rejects everything that waits, and sends nothing more. */
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
      // The caller has just found it locked.
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
    // All due items have been withdrawn.
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
    // The transaction that just ended may have locked the other ids as well.
    if (isAnyFree) {
      for (const line of this.#lines.values()) {
        if (lines.includes(line)) continue
        line.dueMs = Math.min(line.dueMs, Math.max(now, line.triedMs + SOON_MS))
      }
    }
    this.#schedule()
  }

  /** The ids that were tried longest ago, so that every id gets its turn. */
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

  /** Schedules the next try of an id: later, at once, or never. */
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
    // For an item that is being sent, the answer decides.
    if (!this.#underWay.has(entry)) this.#settle(entry, entry.signal!.reason)
  }

  #settle(entry: Entry<Item, Answer>, error: unknown): void {
    this.#take(entry)?.reject(error)
  }

  /** Removes the entry; `undefined` when it is already settled. */
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
