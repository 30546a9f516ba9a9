import type { Execution } from '../replay/execution.ts'
import type { Scope } from '../replay/scope.ts'

type Listener = ((event: Event) => void) | { handleEvent(event: Event): void }

/**
 * Creates the signal of a scope. Its listeners run within the turn. A listener that throws fails the
 * workflow; with an ordinary signal it would end the process.
 */
export function guardedSignal(execution: Execution, scope: Scope): AbortSignal {
  const controller = new AbortController()
  const { signal } = controller
  const guards = new WeakMap<object, Listener>()
  const guard = (listener: Listener): Listener => {
    const known = guards.get(listener)
    if (known !== undefined) return known
    const guarded = (event: Event): void => {
      try {
        if (typeof listener === 'function') listener.call(signal, event)
        else listener.handleEvent(event)
      } catch (error) {
        execution.fail(error)
      }
    }
    guards.set(listener, guarded)
    return guarded
  }
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  let onabort: Listener | null = null
  Object.defineProperties(signal, {
    addEventListener: {
      value: (type: string, listener: Listener | null, options?: object) =>
        add(type, listener === null ? (listener as never) : guard(listener), options),
    },
    removeEventListener: {
      value: (type: string, listener: Listener | null, options?: object) =>
        remove(type, listener === null ? (listener as never) : guard(listener), options),
    },
    onabort: {
      get: () => onabort,
      set(listener: Listener | null) {
        if (onabort !== null) remove('abort', guard(onabort))
        onabort = typeof listener === 'function' ? listener : null
        if (onabort !== null) add('abort', guard(onabort))
      },
    },
  })
  scope.whenCancelled((error) => controller.abort(error))
  return signal
}
