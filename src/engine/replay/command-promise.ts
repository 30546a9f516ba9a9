// The promises that workflow code gets. Each knows whether it was ever awaited, so that a forgotten
// `await` is noticed.
//
// `await`, `then` and the combinators all read `constructor` before they attach themselves. Here they
// read `Promise`, so that they take as many microtasks as with any other promise. Overriding `then`
// would not work, because `await` does not call it. The property is on our own prototype, because on
// `Promise.prototype` it would slow down every promise of the process.

/** The promise of a command. */
export class CommandPromise extends Promise<unknown> {
  /** Cancels the command. */
  cancel: (reason?: string) => void
  /** Whether it was ever awaited. */
  isAwaited = false
  /** The promise of the group that waits for this one, if any: then that one has to be awaited. */
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

/** Turns a promise into one that can be cancelled and that knows whether it was awaited. */
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

/** Whether a promise was awaited, and so were the groups it is part of. */
export function isWaitedFor({ isAwaited, partOf }: CommandPromise): boolean {
  return isAwaited && (partOf === undefined || isWaitedFor(partOf))
}

/** Marks a rejection as handled: the code may await the promise later, or never. */
export function seen<T>(promise: Promise<T>): Promise<T> {
  void promise.catch(() => {})
  return promise
}

/** A promise that never settles. */
export function never(): CommandPromise {
  return cancellable(forever(), () => {})
}

/** The same, without `cancel`. */
export function forever(): Promise<never> {
  return new Promise(() => {})
}
