// Writes that find the file locked, by another process or by a transaction of the user.
//
//   - A lock is held for a moment as a rule, and is waited for. One that is held for longer keeps
//     writes waiting, and nothing else: reads go on meanwhile.
//   - Writes are done in the order they were asked for.
//   - Each fails when it has waited for as long as the settings say.

import { StoreError } from '../../store/store-error.ts'

/** So long the thread stands still for a lock: about as long as a few commits of others take. */
export const MOMENT_MS = 20
const RETRY_MS = 5

/** A write, and who wants to know what became of it. */
export interface WaitingWrite {
  /** Does it, or throws `busy` when the file is still locked after so long. */
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

  /** Nothing is waited for any more. */
  close(): void {
    clearTimeout(this.#timer)
    for (const { write } of this.#waiting.splice(0)) {
      if (!this.#isDone(write, 0)) write.fail(busy('the store was closed before it was free'))
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
