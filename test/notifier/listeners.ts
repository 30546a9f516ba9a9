// Listeners on real stores, and what they heard.

import { systemClock } from '../../src/base/time/clock.ts'
import { postgresWorkflowStore } from '../../src/postgres/workflow-store.ts'
import { SharedNotifier } from '../../src/postgres/notifier/shared-notifier.ts'
import type { PostgresSource } from '../../src/postgres/connect/options.ts'
import type { Hint, Listening } from '../../src/store/hints.ts'
import type { TaskInterest } from '../../src/store/tasks.ts'
import type { WorkflowStore } from '../../src/store/workflow-store.ts'
import { eventually } from '../support/engine.ts'
import { memoryLog, type MemoryLog } from '../support/workers.ts'

/** A listener and what it heard, but for those who joined. */
export interface Heard {
  readonly listening: Listening
  readonly hints: Hint[]
  readonly log: MemoryLog
  /** How often it was asked to look. */
  looks: number
  /** The number of its runtime; 0 for a client. */
  readonly runtime: number
  /** Waits until so many hints were heard. */
  until(count: number): Promise<readonly Hint[]>
}

/** Listens for a runtime, or for a client (0), and waits until it hears. */
export async function listenOn(
  store: WorkflowStore,
  runtime: number,
  interest: { readonly workflows?: readonly number[]; readonly tasks?: TaskInterest } = {},
): Promise<Heard> {
  const { workflows = [], tasks = null } = interest
  const log = memoryLog()
  const hints: Hint[] = []
  const listening = store.hints!.listen({
    clock: systemClock(),
    log,
    interest: () => ({ runtime, workflows, tasks, ownedTasks: [] }),
    hear: (hint) => {
      if (hint.kind !== 'joined') hints.push(hint)
    },
    look: async () => {
      heard.looks++
      return false
    },
  })
  const heard: Heard = {
    listening,
    hints,
    log,
    looks: 0,
    runtime,
    until: (count) => eventually(() => hints.length >= count && hints),
  }
  await eventually(() => listening.hears && heard.looks > 0)
  return heard
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
