// What the tests of activities and tasks share: quick runtimes, a look into the store, and a runtime
// that is declared dead while its code runs on.

import { setTimeout as passTime } from 'node:timers/promises'
import type { ActivityContext, HistoryEvent, Instance, Store } from '../../src/index.ts'
import type { TickRequest } from '../../src/store/runtimes.ts'
import { OPEN_WORKFLOW_STORE, type StoreHandle } from '../../src/store/store.ts'
import type { OpenTask } from '../../src/store/tasks.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import type { Space } from '../support/engine.ts'

/** Its tick comes twice a second: whatever hint is lost, it is noticed soon. */
export const QUICK = { lease: 1_500 } as const

/** Looks into the store of a space. */
export async function look<T>(space: Space, use: (store: WorkflowStore) => Promise<T>): Promise<T> {
  const store = (space.store as StoreHandle)[OPEN_WORKFLOW_STORE]()
  await store.open()
  try {
    return await use(store)
  } finally {
    await store.close()
  }
}

/** The tasks of an instance. */
export function tasksOf(space: Space, id: string): Promise<readonly OpenTask[]> {
  return look(space, async (store) => {
    const [row] = await store.find([id])
    const [loaded] = await store.load([{ iid: row!.iid, after: 0 }])
    return loaded?.tasks ?? []
  })
}

/** What happened in an instance. */
export async function eventsOf(instance: Instance): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = []
  for await (const event of instance.history()) events.push(event)
  return events
}

/** The data of the events of one type. */
export async function dataOf(instance: Instance, type: string): Promise<Record<string, unknown>[]> {
  const events = await eventsOf(instance)
  return events
    .filter((event) => event.type === type)
    .map(({ data }) => data as Record<string, unknown>)
}

/** Resolves when the attempt is aborted. */
export function stopped({ signal }: ActivityContext): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason)
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true })
  })
}

/** A store that can be cut off: as for a process that is frozen, but whose code continues. */
export interface Frozen {
  /** To be given to `open`. */
  readonly store: Store
  /** From now on whatever is asked of the store waits. */
  freeze(): void
  /** Cuts it off and declares the runtime on it dead, as another one would after its lease. */
  die(): Promise<void>
  /** Everything that waited continues. */
  thaw(): void
  /** How often the store has answered a call of this method. */
  answers(method: keyof WorkflowStore): number
}

const QUIET: Omit<TickRequest, 'runtime'> = {
  workflows: [],
  tasks: null,
  ownedTasks: [],
  unknown: [],
  idle: false,
}

/** A store of a space that can be cut off. */
export function freezable(space: Space): Frozen {
  const handle = space.store as StoreHandle
  const answered = new Map<PropertyKey, number>()
  let runtime = 0
  let gate: Promise<void> | undefined
  let thaw: (() => void) | undefined
  const freeze = (): void => {
    gate ??= new Promise((resolve) => {
      thaw = () => {
        gate = undefined
        resolve()
      }
    })
  }

  const cutOff = (inner: WorkflowStore): WorkflowStore =>
    new Proxy(inner, {
      get(target, name) {
        // A thread of its own would keep renewing the lease.
        if (name === 'keepLease') return undefined
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function' || name === 'within') return value
        return async (...args: unknown[]): Promise<unknown> => {
          await gate
          const answer: unknown = await value.apply(target, args)
          await gate
          answered.set(name, (answered.get(name) ?? 0) + 1)
          if (name === 'register') runtime = (answer as { runtime: number }).runtime
          return answer
        }
      },
    })

  const store: StoreHandle = {
    kind: handle.kind,
    [OPEN_WORKFLOW_STORE]: () => cutOff(handle[OPEN_WORKFLOW_STORE]()),
  }
  return {
    store,
    freeze,
    thaw: () => thaw?.(),
    answers: (method) => answered.get(method) ?? 0,
    die() {
      freeze()
      return look(space, async (other) => {
        await other.renewLease(runtime, 1)
        await passTime(5)
        const undertaker = await other.register({ leaseMs: 60_000, workflows: [], info: 'test' })
        await other.tick({ ...QUIET, runtime: undertaker.runtime })
        await other.unregister(undertaker.runtime)
      })
    },
  }
}
