import type { Iid } from '../../store/instances.ts'
import type { WorkflowStore } from '../../store/workflow-store.ts'

/** How many rows a store has about one instance, in the words of the port. */
export interface RowCounts {
  /** The instance itself, ended or not: 0 or 1. */
  readonly instances: number
  /** Its row while it is unfinished: 0 or 1. */
  readonly runs: number
  /** Turns of all its executions. */
  readonly history: number
  /** Messages and results that wait for it. */
  readonly inbox: number
  /** Keys of messages that are not taken twice. */
  readonly posted: number
  /** Values that it keeps. */
  readonly state: number
}

/**
 * A fresh store, and the knobs that its author gives to the contract suite.
 *
 * The knobs reach behind the port, usually with plain SQL. Disposing ends all connections and
 * removes the data.
 */
export interface StoreUnderTest extends AsyncDisposable {
  /** The store, open. */
  readonly store: WorkflowStore
  /** Another connection to the same data, open, as a second process would have it. */
  another(): Promise<WorkflowStore>
  /** Moves the store's clock, for all connections. */
  advance(ms: number): Promise<void>
  /** Makes the last turn of an instance unreadable. */
  corrupt(iid: Iid): Promise<void>
  /** Ends the lease of a runtime, as if it had been silent for too long. No runtime gets a hint. */
  kill(runtime: number): Promise<void>
  /** How often an owner died with this instance; `undefined` when it has ended. */
  attempts(iid: Iid): Promise<number | undefined>
  /** What the store has about an instance, to find leftovers. */
  rows(iid: Iid): Promise<RowCounts>
}

/** The part of a test runner's `expect` that the suite uses. */
export interface Expectation {
  toBe(expected: unknown): unknown
  toEqual(expected: unknown): unknown
  toMatchObject(expected: object): unknown
  toBeGreaterThan(expected: number): unknown
  toBeGreaterThanOrEqual(expected: number): unknown
  toBeLessThanOrEqual(expected: number): unknown
}

/** The part of a test runner that the suite uses. Those of Vitest, Jest and Bun all fit. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: (name: string, body: () => Promise<void>) => unknown
  readonly expect: (actual: unknown) => Expectation
}
