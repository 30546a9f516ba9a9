// Listening to abort signals without leaving anything on them.
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
    const tell = (): void => aborted()
    signal.add(tell)
    return () => signal.remove(tell)
  }
  const { waiting, listener } = listened.get(signal) ?? listenTo(signal)
  // A function of its own: the same one may be given twice.
  const tell = (): void => aborted()
  waiting.add(tell)
  return () => {
    if (!waiting.delete(tell) || waiting.size > 0) return
    listened.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

function listenTo(signal: AbortSignal): Listened {
  const waiting = new Set<() => void>()
  const listener = (): void => {
    listened.delete(signal)
    for (const tell of waiting) tell()
  }
  const one = { waiting, listener }
  listened.set(signal, one)
  signal.addEventListener('abort', listener, { once: true })
  return one
}

/** What a promise comes to, or a rejection with the signal's reason when that aborts first. */
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

/** A signal that aborts with a limit, for what takes nothing else. */
export function signalOf(limit: Limit): AbortSignal {
  const controller = new AbortController()
  onAbort(limit, () => controller.abort(limit.reason))
  return controller.signal
}
