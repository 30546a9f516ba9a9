// The promises that workflow code gets. Each knows whether anybody ever waited for it, so that a
// forgotten `await` is noticed.
//
// `await`, `then` and the combinators all read `constructor` before they attach themselves; what they
// read here is `Promise`, so that they take as many microtasks as for any other promise. An own `then`
// would not do: `await` does not call it. The property is on a prototype of our own, since on a promise
// itself it would slow down all promises of the process.

/** What workflow code waits for. */
export class CommandPromise extends Promise<unknown> {
  /** Calls it off. */
  cancel: (reason?: string) => void
  /** Whether anybody ever waited for it. */
  isAwaited = false
  /** The promise of a group that waits for this one: then it counts whether that is waited for. */
  partOf: CommandPromise | undefined = undefined

  constructor(
    executor: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void,
    cancel: (reason: string) => void,
  ) {
    super(executor)
    this.cancel = (reason = '') => cancel(reason)
  }
}

void Object.defineProperty(CommandPromise.prototype, 'constructor', {
  get(this: CommandPromise) {
    this.isAwaited = true
    return Promise
  },
})

/** Makes a promise one that can be called off, and that knows whether anybody waits for it. */
export function cancellable(
  promise: Promise<unknown>,
  cancel: (reason: string) => void,
): CommandPromise {
  const result = Object.setPrototypeOf(promise, CommandPromise.prototype) as CommandPromise
  result.cancel = (reason = '') => cancel(reason)
  result.isAwaited = false
  result.partOf = undefined
  return result
}

/** Whether somebody waits for a promise, or for all of the group that it is part of. */
export function isWaitedFor({ isAwaited, partOf }: CommandPromise): boolean {
  return isAwaited && (partOf === undefined || isWaitedFor(partOf))
}

/** The code may never look at it, or look at it later: that is no stray rejection. */
export function seen<T>(promise: Promise<T>): Promise<T> {
  void promise.catch(() => {})
  return promise
}

/** A promise that never settles. */
export function never(): CommandPromise {
  return cancellable(forever(), () => {})
}

/** The same, for what cannot be called off. */
export function forever(): Promise<never> {
  return new Promise(() => {})
}
