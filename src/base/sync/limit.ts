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

  /** Calls every listener once. Only the first abort counts. */
  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const [first, others] = [this.#listener, this.#others]
    this.#listener = this.#others = undefined
    first?.()
    for (const listener of others ?? []) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  /** For `onAbort`: adding the same function twice calls it once. */
  add(listener: () => void): void {
    if (this.#listener === undefined) this.#listener = listener
    else (this.#others ??= new Set()).add(listener)
  }

  remove(listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined
    else this.#others?.delete(listener)
  }
}
