/**
 * What ends a wait from outside. It can do what we need of an `AbortSignal`, at a small part of its
 * price: Node's is an event target, and every call of a client that waits has one of these.
 */
export class Limit {
  /** Why it was aborted. */
  reason: unknown
  aborted = false
  // Most have one, and then a set would cost more than all the rest.
  #listener: (() => void) | undefined
  #others: Set<() => void> | undefined

  /** Tells all who listen, each once. Only the first abort counts. */
  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const [first, others] = [this.#listener, this.#others]
    this.#listener = this.#others = undefined
    first?.()
    for (const tell of others ?? []) tell()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  /** For `onAbort`: the same function is told once. */
  add(tell: () => void): void {
    if (this.#listener === undefined) this.#listener = tell
    else (this.#others ??= new Set()).add(tell)
  }

  remove(tell: () => void): void {
    if (this.#listener === tell) this.#listener = undefined
    else this.#others?.delete(tell)
  }
}
