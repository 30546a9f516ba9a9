import { StoreError } from '../../src/store/store-error.ts'
import type { StoreInTransaction } from '../../src/store/transactions.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'

// Stores in front of a real one: with some methods changed, with answers that get lost, with calls
// that wait.

// What is not asked for an answer, or cannot be lost, is left out: such a store gives no hints, and its
// lease is renewed by ticks alone.
type Method = Exclude<
  keyof WorkflowStore,
  'kind' | 'hints' | 'schedules' | 'admin' | 'keepLease' | 'onPromotion' | 'within'
>
type Call = (...args: readonly never[]) => Promise<unknown>

const METHODS: readonly Method[] = [
  'open',
  'close',
  'register',
  'unregister',
  'now',
  'reserve',
  'workflowNumbers',
  'start',
  'commit',
  'claim',
  'load',
  'send',
  'post',
  'renewLease',
  'tick',
  'verify',
  'suspend',
  'resume',
  'terminate',
  'remove',
  'removeExpired',
  'import',
  'owned',
  'find',
  'look',
  'history',
  'readState',
  'whereabouts',
  'replies',
  'claimTasks',
  'finishTasks',
  'beat',
  'ownedTasks',
  'aboutTo',
  'transact',
]

/** The store, with some methods replaced. */
export function withMethods(inner: WorkflowStore, changed: Partial<WorkflowStore>): WorkflowStore {
  const bound = METHODS.map((name) => [name, (inner[name] as Call).bind(inner)] as const)
  const within = (tx: unknown): StoreInTransaction => inner.within(tx)
  const { kind, schedules, admin } = inner
  const plain = { kind, schedules, admin, within }
  return { ...plain, ...Object.fromEntries(bound), ...changed } as WorkflowStore
}

/** A store that works, and whose answers can be lost on the way back. */
export interface LosingStore extends WorkflowStore {
  /** Loses the next answer of a method. Resolves when that has happened. */
  loseNext(method: Method): Promise<void>
  /** From now on calls of all methods wait. Resolves the ones that wait when called again. */
  freeze(): () => void
}

/** Puts such a store in front of another. */
export function losingStore(inner: WorkflowStore): LosingStore {
  const losses = new Map<Method, () => void>()
  let frozen: Promise<void> | undefined

  const wrapped = METHODS.map((name) => {
    const call = (inner[name] as Call).bind(inner)
    const through = async (...args: readonly never[]): Promise<unknown> => {
      await frozen
      const answer = await call(...args)
      const lost = losses.get(name)
      if (lost === undefined) return answer
      losses.delete(name)
      lost()
      // What came after the call was made is the same for both: the call does not see it.
      await frozen
      throw new StoreError('connection_lost', name, 'the answer was lost')
    }
    return [name, through] as const
  })
  return {
    ...(Object.fromEntries(wrapped) as unknown as WorkflowStore),
    kind: inner.kind,
    schedules: inner.schedules,
    admin: inner.admin,
    within: (tx) => inner.within(tx),
    loseNext: (method) => new Promise((resolve) => losses.set(method, resolve)),
    freeze() {
      let thaw!: () => void
      frozen = new Promise((resolve) => {
        thaw = () => {
          frozen = undefined
          resolve()
        }
      })
      return thaw
    },
  }
}
