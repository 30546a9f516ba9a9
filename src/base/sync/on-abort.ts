// HintSubscription to abort signals without leaving anything on them.
//
//   - A signal has one listener of ours, however many wait for it: a caller may hand one signal to
//     thousands of calls, and Node warns of a leak from the eleventh listener on.
//   - The listener is removed with the last waiter: a signal may outlive any number of waits.

import { Limit } from './limit.ts'

/** A signal of a caller, or a limit of our own. */
export type Abortable = AbortSignal | Limit

interface Listened {
  readonly waiting: Set<() => void>
  readonly listener: () => void
}

const listened = new WeakMap<AbortSignal, Listened>()

/** Calls back when a signal aborts, at once if it has. Call the result to stop. */
export function onAbort(signal: Abortable, aborted: () => void): () => void {
  if (signal.aborted) {
    aborted()
    return () => {}
  }
  if (signal instanceof Limit) {
    const listener = (): void => aborted()
    signal.add(listener)
    return () => signal.remove(listener)
  }
  const { waiting, listener } = listened.get(signal) ?? listenTo(signal)
  // A function of its own: the same one may be given twice.
  const callback = (): void => aborted()
  waiting.add(callback)
  return () => {
    if (!waiting.delete(callback) || waiting.size > 0) return
    listened.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

function listenTo(signal: AbortSignal): Listened {
  const waiting = new Set<() => void>()
  const listener = (): void => {
    listened.delete(signal)
    for (const callback of waiting) callback()
  }
  const one = { waiting, listener }
  listened.set(signal, one)
  signal.addEventListener('abort', listener, { once: true })
  return one
}

/** The result of a promise, or a rejection with the signal's reason if that aborts first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason as Error))
    const settle =
      <V>(how: (value: V) => void) =>
      (value: V): void => {
        stop()
        how(value)
      }
    promise.then(settle(resolve), settle(reject))
  })
}

/** A signal that aborts with a limit, for APIs that take nothing else. */
export function signalOf(limit: Limit): AbortSignal {
  const controller = new AbortController()
  onAbort(limit, () => controller.abort(limit.reason))
  return controller.signal
}
