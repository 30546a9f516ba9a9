// Writes that find the file locked, by another process or by a transaction of the user.
//
//   - A lock is usually held for a moment, and the thread waits for it. A lock that is held longer
//     delays writes, and nothing else: reads continue meanwhile.
//   - Writes are done in the order of the calls.
//   - Each fails when it has waited for as long as the settings say.

import { StoreError } from '../../store/store-error.ts'

/** How long the thread blocks for a lock: about as long as a few commits of others take. */
export const MOMENT_MS = 20
const RETRY_MS = 5

/** A write, and where its outcome goes. */
export interface WaitingWrite {
  /** Does it, or throws `busy` when the file is still locked after this long. */
  attempt(waitMs: number): void
  fail(error: StoreError): void
}

/** The writes of one thread. */
export class WaitingWrites {
  readonly #limitMs: number
  #waiting: { readonly write: WaitingWrite; readonly sinceMs: number }[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** Does a write, now or when the file is free. */
  add(write: WaitingWrite): void {
    const isFirst = this.#waiting.length === 0
    if (isFirst && this.#isDone(write, MOMENT_MS)) return
    this.#waiting.push({ write, sinceMs: performance.now() })
    if (isFirst) this.#later()
  }

  /** Nothing waits any longer. */
  close(): void {
    clearTimeout(this.#timer)
    for (const { write } of this.#waiting.splice(0)) {
      if (!this.#isDone(write, 0))
        write.fail(busy('the store was closed while the file was locked'))
    }
  }

  #later(): void {
    this.#timer = setTimeout(() => this.#retry(), RETRY_MS * (0.5 + Math.random()))
  }

  #retry(): void {
    while (this.#waiting.length > 0) {
      const { write, sinceMs } = this.#waiting[0]!
      if (!this.#isDone(write, 0)) {
        const waitedMs = Math.round(performance.now() - sinceMs)
        if (waitedMs < this.#limitMs) return this.#later()
        write.fail(busy(`waited ${waitedMs} ms; is a transaction of yours open (begin immediate)?`))
      }
      this.#waiting.shift()
    }
  }

  /** False when the file is locked. */
  #isDone(write: WaitingWrite, waitMs: number): boolean {
    try {
      write.attempt(waitMs)
      return true
    } catch (error) {
      if (error instanceof StoreError && error.code === 'busy') return false
      throw error
    }
  }
}

function busy(words: string): StoreError {
  return new StoreError('busy', 'sqlite write', `another transaction has locked the file, ${words}`)
}
