import type { TaskKey } from '../../../store/tasks.ts'
import type { WorkflowStore } from '../../../store/workflow-store.ts'
import type { TaskRunner } from './task-runner.ts'

/**
 * Somebody says that nobody waits for these tasks any more: stops those of which the store says so,
 * too, and answers how many.
 */
export async function abortUnwanted(
  store: Pick<WorkflowStore, 'holding'>,
  runtime: number,
  tasks: Pick<TaskRunner, 'held' | 'abort'>,
  keys: readonly TaskKey[],
): Promise<number> {
  const named = new Set(keys.map(nameOf))
  const asked = tasks.held().filter((key) => named.has(nameOf(key)))
  if (asked.length === 0) return 0
  const held = new Set((await store.holding(runtime)).map(attemptOf))
  const unwanted = asked.filter((key) => !held.has(attemptOf(key)))
  tasks.abort(unwanted)
  return unwanted.length
}

function nameOf({ iid, execution, command }: TaskKey): string {
  return `${iid} ${execution} ${command}`
}

function attemptOf(key: TaskKey & { readonly attempt: number }): string {
  return `${nameOf(key)} ${key.attempt}`
}
