// The store as one process sees it: each call keeps the clock from moving, and after a crash no call has
// an effect or an end.

import type { HintStore } from '../../store/hints.ts'
import type { OutboxStore } from '../../store/outbox-store.ts'
import type { ClockView, TestClock } from './test-clock.ts'

/** Stands between a process and its store: it may delay calls and answers, and end the process. */
export interface CallObserver {
  /** Makes a call, by `send`. Never resolves when the process has ended before the answer. */
  around(name: string, args: readonly unknown[], send: () => Promise<Settled>): Promise<Settled>
}

/** The answer of a store. */
export type Settled = { readonly value: unknown } | { readonly error: unknown }

/** A process that uses a store. */
export interface StoreUser {
  readonly clock: TestClock
  readonly view: ClockView
  readonly isDead: () => boolean
  readonly observer?: CallObserver | undefined
  /** Whether notifications reach it at present. */
  readonly receivesHints?: () => boolean
  /** Whether it is the test itself, rather than a process that runs workflows. */
  readonly isTest?: boolean
}

/** Calls that change more than who owns what, and for how long. */
export const WRITES: ReadonlySet<string> = new Set([
  'start',
  'commit',
  'finishTasks',
  'beat',
  'transact',
  'send',
  'post',
  'suspend',
  'resume',
  'terminate',
  'remove',
  'import',
  'steps',
  'put',
  'move',
  'fire',
  'trigger',
])

type Method = (...args: unknown[]) => unknown

/** Wraps a store for one process. */
export function storeFor<S extends object>(store: S, user: StoreUser): S {
  const wrapped = new Map<PropertyKey, unknown>()
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      let method = wrapped.get(name)
      if (name === 'schedules' && typeof value === 'object' && value !== null) {
        method ??= storeFor(value, user)
        wrapped.set(name, method)
        return method
      }
      if (name === 'hints' && user.receivesHints !== undefined) {
        method ??= hintsFor(value as HintStore, user.receivesHints)
        wrapped.set(name, method)
        return method
      }
      if (typeof value !== 'function') return value
      if (method === undefined) {
        method = wrap(String(name), value.bind(target) as Method, user)
        wrapped.set(name, method)
      }
      return method
    },
  })
}

function wrap(name: string, method: Method, user: StoreUser): Method {
  switch (name) {
    case 'outbox':
      return (...args) => storeFor(method(...args) as OutboxStore, user)
    case 'within':
      return (...args) => endsInTime(method(...args) as object, user)
    case 'keepLease':
    case 'listen':
    case 'close':
      return method
    default:
      return (...args) => call(name, () => method(...args), args, user)
  }
}

async function call(
  name: string,
  perform: () => unknown,
  args: readonly unknown[],
  { clock, view, isDead, observer, isTest = false }: StoreUser,
): Promise<unknown> {
  if (isDead()) return never()
  view.hold(1)
  const send = (): Promise<Settled> => {
    if (WRITES.has(name)) {
      if (isTest) clock.progressed()
      else clock.wrote()
    }
    return settle(perform)
  }
  const settled = await (observer === undefined ? send() : observer.around(name, args, send))
  view.hold(-1)
  // A process that has ended gets no answer of any kind.
  if (isDead()) return never()
  if ('error' in settled) throw settled.error
  return settled.value
}

async function settle(perform: () => unknown): Promise<Settled> {
  try {
    return { value: await perform() }
  } catch (error) {
    return { error }
  }
}

/** The end of a transaction of the user is noticed by polling: time does not move until then. */
function endsInTime(inside: object, { view }: StoreUser): object {
  const { ended } = inside as { ended?: () => Promise<void> }
  if (ended === undefined) return inside
  return {
    ...inside,
    ended: async () => {
      view.hold(1)
      await ended()
      view.hold(-1)
    },
  }
}

/** Notifications, which are lost while the process does not receive them. */
function hintsFor(hints: HintStore, receivesHints: () => boolean): HintStore {
  return {
    announce: (announcement, origin) => hints.announce(announcement, origin),
    listen: (receiver) =>
      hints.listen({
        ...receiver,
        receive: (hint) => {
          if (receivesHints()) receiver.receive(hint)
        },
      }),
  }
}

/** The answer to a process that has ended. */
export function never(): Promise<never> {
  return new Promise(() => {})
}
