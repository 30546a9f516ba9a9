// The core of a runtime without a database, for tests of single services.

import type { Clock } from '../../src/base/time/clock.ts'
import type { Registry } from '../../src/engine/define/registry.ts'
import { type RuntimeCore, runtimeCore } from '../../src/engine/runtime/core/runtime-core.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { values } from './executions.ts'
import { memoryLog, type MemoryLog } from './workers.ts'

/** What is not as usual about a core. */
export interface CoreGiven {
  readonly log?: MemoryLog
  /** The methods of a store that are called. */
  readonly store?: object
  readonly registry?: Partial<Registry>
  readonly closing?: AbortSignal
}

/** A core on a clock that is moved by hand. */
export function testCore(
  clock: Clock,
  given: CoreGiven = {},
): RuntimeCore & { readonly log: MemoryLog } {
  const { log = memoryLog(), store = {}, registry = {} } = given
  const { closing = new AbortController().signal } = given
  const setup = {
    store: Object.assign(store, { kind: 'test' }) as unknown as WorkflowStore,
    clock,
    values,
    registry: { ...NOTHING_REGISTERED, ...registry },
    random: () => 0,
  }
  return { ...runtimeCore({ ...setup, log }, closing), log }
}

const NOTHING_REGISTERED: Registry = {
  workflows: [],
  latestWorkflows: [],
  workflow: () => undefined,
  latest: () => undefined,
  activity: () => undefined,
  activityNames: [],
  learn: () => {},
}

/** A stand-in for a service of which only some members are used. */
export function partOf<T>(members: Partial<T>): T {
  return members as T
}
