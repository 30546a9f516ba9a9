// The calls that a test makes, so that a forgotten `await` is found when the test ends.

import { sourceLine } from '../../base/source-line.ts'

/** A promise that knows whether anyone has asked for its result. */
class OwnCall<T> extends Promise<T> {
  /** Called when someone does. */
  onAwaited: (() => void) | undefined

  // What follows from it is a promise like any other.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  // `await` calls this as well, since the class is not that of native promises.
  // oxlint-disable-next-line no-thenable -- it is a promise
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.onAwaited?.()
    return super.then(onFulfilled, onRejected)
  }
}

/** The calls of a test that are not awaited so far. */
export class OwnCalls {
  readonly #open = new Map<Promise<unknown>, { readonly what: string; readonly stack: string }>()

  /** The promise of a call, which counts as forgotten until it is awaited or gets a handler. */
  track<T>(what: string, promise: Promise<T>): Promise<T> {
    const stack = new Error(what).stack ?? ''
    const call = new OwnCall<T>((resolve, reject) => void promise.then(resolve, reject))
    this.#open.set(call, { what, stack })
    call.onAwaited = () => void this.#open.delete(call)
    return call
  }

  /** What was not awaited, in words. Nobody will await it any more. */
  takeForgotten(): readonly string[] {
    const forgotten = [...this.#open]
    this.#open.clear()
    const lines = forgotten.map(([promise, { what, stack }]) => {
      // The report says it: its rejection, such as by the end of the test, need not be reported again.
      promise.catch(() => {})
      return `the test did not await ${what} ${sourceLine(stack)}`.trimEnd()
    })
    return lines.length === 0 ? [] : [...lines, HINT]
  }
}

const HINT =
  '(`return` alone does not await in a block with `await using`, nor in one with `finally`: write `return await`)'
