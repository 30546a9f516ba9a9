import type { StartItem } from '../../store/commits.ts'
import type { Iid } from '../../store/instances.ts'
import type {
  Beat,
  ClaimedTask,
  NewTask,
  TaskAnswer,
  TaskEnd,
  TaskKey,
  TaskRequest,
  TaskResult,
  TaskVerdict,
} from '../../store/tasks.ts'
import { effects } from './items.ts'
import { type Actor, type Scene, turnItem, turnRow } from './scene.ts'

// Short ways to ask for tasks, to claim them, and to report their results.

/** How long a session lasts here without a task: so long that no slow machine gets near. */
export const SESSION_IDLE_MS = 60_000

/** A task for the activity `charge`, by default for any runtime. */
export function newTask(command: number, given: Partial<NewTask> = {}): NewTask {
  return {
    command,
    token: tokenOf(command),
    activity: 'charge',
    input: `"input ${command}"`,
    tag: '',
    session: '',
    options: '{}',
    attempts: 0,
    startBy: null,
    limit: null,
    ...given,
  }
}

/** The token of the tasks of a command here. */
function tokenOf(command: number): number {
  return 1_000_000 + command
}

/** Tasks of the commands 1, 2, … that are alike. */
export function newTasks(count: number, given: Partial<NewTask> = {}): NewTask[] {
  return Array.from({ length: count }, (_, i) => newTask(i + 1, given))
}

/** Starts an instance, owned by default, whose first turn asks for these tasks. */
export async function asking(
  owner: Actor,
  tasks: readonly NewTask[],
  given: Partial<StartItem> = {},
): Promise<Iid> {
  const [iid] = await owner.reserve(1)
  const item = owner.startItem(iid!, { effects: effects({ tasks }), ...given })
  const [verdict] = await owner.starts(item)
  if (verdict !== 'done') throw new Error(`the start was answered with "${verdict}"`)
  return iid!
}

/** An owner at epoch 1 takes a second turn, after which these commands are no longer waited for. */
export async function drop(owner: Actor, iid: Iid, ...commands: readonly number[]): Promise<void> {
  await owner.turns(turnItem(iid, { turn: turnRow(2), effects: effects({ dropsTasks: commands }) }))
}

/** By default, all tasks of the activity `charge` without a tag. */
export function taskRequest(runtime: number, given: Partial<TaskRequest> = {}): TaskRequest {
  return {
    runtime,
    activities: ['charge'],
    served: { untagged: true, tags: [] },
    limit: 1_000,
    maxSessions: 100,
    sessionIdleMs: SESSION_IDLE_MS,
    ...given,
  }
}

/** Claims as `taskRequest` says. */
export function claimTasks(runtime: Actor, given: Partial<TaskRequest> = {}): Promise<TaskAnswer> {
  return runtime.store.claimTasks(taskRequest(runtime.runtime, given))
}

/** Claims tasks, in the order they are handed out. */
export async function held(
  runtime: Actor,
  given?: Partial<TaskRequest>,
): Promise<readonly ClaimedTask[]> {
  const { state, tasks } = await claimTasks(runtime, given)
  if (state !== 'ok') throw new Error(`the claim was answered with "${state}"`)
  return tasks
}

/** Claims the one task that is there. */
export async function heldOne(runtime: Actor, given?: Partial<TaskRequest>): Promise<ClaimedTask> {
  const tasks = await held(runtime, given)
  if (tasks.length !== 1) throw new Error(`there should be one task, not ${tasks.length}`)
  return tasks[0]!
}

/** Claims tasks, and returns their commands. */
export async function commandsOf(runtime: Actor, given?: Partial<TaskRequest>): Promise<number[]> {
  return (await held(runtime, given)).map(({ command }) => command)
}

/** The key of an attempt. */
export type Attempt = TaskKey & Pick<ClaimedTask, 'attempt' | 'token'>

/** The task of a command of the first execution, as its first owner names it. */
export function attemptAt(iid: Iid, command: number, given: Partial<Attempt> = {}): Attempt {
  return { iid, execution: 1, command, token: tokenOf(command), attempt: 1, ...given }
}

export function completed(task: Attempt, payload = '"charged"'): TaskResult {
  return ended(task, { kind: 'completed', payload })
}

export function failed(task: Attempt, payload = '"declined"'): TaskResult {
  return ended(task, { kind: 'failed', payload })
}

export function retried(task: Attempt, delayMs = 0, error?: string): TaskResult {
  return ended(task, { kind: 'retry', delayMs, ...(error !== undefined && { error }) })
}

export function released(task: Attempt, delayMs = 0): TaskResult {
  return ended(task, { kind: 'release', delayMs })
}

function ended(task: Attempt, end: TaskEnd): TaskResult {
  const { iid, execution, command, token, attempt } = task
  return { iid, execution, command, token, attempt, end }
}

/** Reports results of tasks, and returns the verdicts. */
export async function finish(
  runtime: Actor,
  ...results: readonly TaskResult[]
): Promise<TaskVerdict['verdict'][]> {
  const verdicts = await runtime.store.finishTasks(runtime.runtime, results)
  return verdicts.map(({ verdict }) => verdict)
}

/** A heartbeat, by default without details and without a limit. */
export function beatOf(task: Attempt, given: Partial<Beat> = {}): Beat {
  const { iid, execution, command, token, attempt } = task
  const key = { iid, execution, command, token }
  return { ...key, attempt, details: null, silentMs: null, local: null, ...given }
}

/** Sends heartbeats, and returns whether each attempt is still wanted. */
export function beat(runtime: Actor, ...beats: readonly Beat[]): Promise<readonly boolean[]> {
  return runtime.store.beat(runtime.runtime, beats)
}

/** Ends the lease of `victim`; `witness` notices that. */
export async function bury(scene: Scene, victim: Actor, witness: Actor): Promise<void> {
  await scene.under.kill(victim.runtime)
  await witness.tick()
}
