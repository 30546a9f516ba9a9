import { setMaxListeners } from 'node:events'

/** An abort signal that is created on first use: most workers never need one. */
export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      // One pass may hand it to any number of calls at once; that is no leak to warn of.
      setMaxListeners(0, this.#controller.signal)
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** What it was aborted with, if it was. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Aborts it; the first reason stays. */
  abort(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }
}
