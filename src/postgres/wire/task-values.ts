import type { CommitBatch } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type {
  Beat,
  NewTask,
  TaskEnd,
  TaskInterest,
  TaskAttempt,
  TaskKey,
  TaskResult,
} from '../../store/tasks.ts'
import { TASK_END } from './numbers.ts'
import { joinTexts, listOf, packLists } from './lists.ts'

// Parameters of procedures for tasks: parallel lists, one entry per task.

/** A task with its instance and execution; null for the current execution. */
interface PlacedTask {
  readonly iid: Iid
  readonly execution: number | null
  readonly task: NewTask
}

/** The tasks of a batch as `change_tasks` takes them; empty when there are none. */
export function tasksValue({ starts, turns }: Pick<CommitBatch, 'starts' | 'turns'>): string {
  const placed: PlacedTask[] = []
  const dropped: { iid: Iid; execution: number | null; command: number }[] = []
  for (const items of [starts, turns]) {
    for (const { iid, turn, effects } of items) {
      if (effects === null) continue
      const execution = turn?.execution ?? null
      for (const task of effects.tasks) placed.push({ iid, execution, task })
      for (const command of effects.dropsTasks) dropped.push({ iid, execution, command })
    }
  }
  if (placed.length === 0 && dropped.length === 0) return ''
  return packLists('commit', [
    ...taskLists('commit', placed),
    listOf(dropped.map(({ iid }) => iid)),
    listOf(dropped.map(({ execution }) => execution)),
    listOf(dropped.map(({ command }) => command)),
    tokenList(placed),
  ])
}

/** As `insert_tasks` takes them; with epochs for tasks that depend on the owner of the instance. */
function taskLists(
  operation: string,
  placed: readonly PlacedTask[],
  epochs: readonly number[] = [],
): string[] {
  const numbers = (numberOf: (task: NewTask) => number | null): string =>
    listOf(placed.map(({ task }) => numberOf(task)))
  const texts = (textOf: (task: NewTask) => string): string =>
    joinTexts(
      operation,
      placed.map(({ task }) => textOf(task)),
    )
  return [
    listOf(placed.map(({ iid }) => iid)),
    listOf(placed.map(({ execution }) => execution)),
    numbers(({ command }) => command),
    texts(({ activity }) => activity),
    texts(({ input }) => input),
    texts(({ tag }) => tag),
    texts(({ session }) => session),
    texts(({ options }) => options),
    numbers(({ attempts }) => attempts),
    numbers(({ startBy }) => startBy),
    // The sign distinguishes an empty key from none.
    texts(({ limit }) => (limit === null ? '' : `=${limit.key}`)),
    numbers(({ limit }) => limit?.concurrency ?? null),
    numbers(({ limit }) => limit?.rate?.count ?? null),
    numbers(({ limit }) => limit?.rate?.perMs ?? null),
    listOf(epochs),
  ]
}

/** The last list: older versions do not have it. */
function tokenList(placed: readonly PlacedTask[]): string {
  return listOf(placed.map(({ task }) => task.token))
}

/** What a runtime serves, as `ready_lanes` takes it. An untagged task has an empty tag. */
export function interestValues(
  operation: string,
  { activities, served: { untagged, tags } }: TaskInterest,
): (string | number)[] {
  const names = [...new Set(activities)]
  const named = tags === 'any' ? [] : tags.filter((tag) => tag !== '')
  const all = [...new Set(untagged ? ['', ...named] : named)]
  return [
    joinTexts(operation, names),
    names.length,
    joinTexts(operation, all),
    all.length,
    String(tags === 'any'),
  ]
}

/** The keys of attempts, and their numbers. */
export function attemptLists(attempts: readonly TaskAttempt[]): string[] {
  return [...keyLists(attempts), listOf(attempts.map(({ attempt }) => attempt))]
}

/** The keys of tasks. */
export function keyLists(keys: readonly TaskKey[]): string[] {
  return [
    listOf(keys.map(({ iid }) => iid)),
    listOf(keys.map(({ execution }) => execution)),
    listOf(keys.map(({ command }) => command)),
  ]
}

/** What `finish_tasks` takes after the runtime. */
export function resultLists(results: readonly TaskResult[]): string[] {
  return [
    ...attemptLists(results),
    listOf(results.map(({ end }) => TASK_END[end.kind])),
    listOf(results.map(({ end }) => ('delayMs' in end ? Math.ceil(end.delayMs) : null))),
    joinTexts(
      'finishTasks',
      results.map(({ end }) => payloadOf(end)),
    ),
    listOf(results.map(({ token }) => token)),
  ]
}

/** What `beat_tasks` takes after the runtime. */
export function beatLists(beats: readonly Beat[]): string[] {
  return [
    ...attemptLists(beats),
    listOf(beats.map(({ silentMs }) => silentMs && Math.ceil(silentMs))),
    listOf(beats.map(({ details }) => details !== null)),
    joinTexts(
      'beat',
      beats.map(({ details }) => details ?? ''),
    ),
    listOf(beats.map(({ local }) => local && local.epoch)),
    localsValue(beats),
    listOf(beats.map(({ token }) => token)),
  ]
}

/** Local activities that become tasks, empty for none. Their attempts are running already. */
function localsValue(beats: readonly Beat[]): string {
  const epochs: number[] = []
  const placed: PlacedTask[] = []
  for (const { iid, execution, command, attempt, local } of beats) {
    if (local === null) continue
    epochs.push(local.epoch)
    placed.push({ iid, execution, task: { ...local.task, command, attempts: attempt } })
  }
  if (placed.length === 0) return ''
  return packLists('beat', [...taskLists('beat', placed, epochs), tokenList(placed)])
}

/** The result of an attempt, or its error if another attempt follows. */
function payloadOf(end: TaskEnd): string {
  if (end.kind === 'retry') return end.error ?? ''
  return 'payload' in end ? end.payload : ''
}
