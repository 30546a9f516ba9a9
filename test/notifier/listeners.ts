// Listeners on real stores, and what they received.

import { systemClock } from '../../src/base/time/clock.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { SharedNotifier } from '../../src/postgres/notifier/shared-notifier.ts'
import type { PostgresSource } from '../../src/postgres/connect/options.ts'
import type { Hint, HintSubscription } from '../../src/store/hints.ts'
import type { TaskInterest } from '../../src/store/tasks.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { eventually } from '../support/engine.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'

/** A listener and what it received, apart from `joined`. */
export interface TestListener {
  readonly listening: HintSubscription
  readonly hints: Hint[]
  readonly log: MemoryLog
  /** How often it was asked to look. */
  polls: number
  /** The number of its runtime; 0 for a client. */
  readonly runtime: number
  /** Waits until it has received this many hints. */
  until(count: number): Promise<readonly Hint[]>
}

/** Listens for a runtime, or for a client (0), and waits until hints arrive. */
export async function listenOn(
  store: WorkflowStore,
  runtime: number,
  interest: { readonly workflows?: readonly number[]; readonly tasks?: TaskInterest } = {},
): Promise<TestListener> {
  const { workflows = [], tasks = null } = interest
  const log = memoryLog()
  const hints: Hint[] = []
  const listening = store.hints!.listen({
    clock: systemClock(),
    log,
    interest: () => ({ runtime, workflows, tasks, ownedTasks: [] }),
    receive: (hint) => {
      if (hint.kind !== 'joined') hints.push(hint)
    },
    poll: async () => {
      listener.polls++
      return false
    },
  })
  const listener: TestListener = {
    listening,
    hints,
    log,
    polls: 0,
    runtime,
    until: (count) => eventually(() => hints.length >= count && hints),
  }
  await eventually(() => listening.isListening && listener.polls > 0)
  return listener
}

/** A PostgreSQL store with hints, open, as a process of its own would have it. */
export async function storeWithHints(
  source: PostgresSource,
  schema: string,
  listenTo: PostgresSource = source,
): Promise<WorkflowStore> {
  const store = postgresWorkflowStore({ source, schema }, new SharedNotifier(listenTo))
  await store.open()
  return store
}
