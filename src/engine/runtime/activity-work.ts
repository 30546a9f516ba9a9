import { describe } from '../../base/describe.ts'
import type { NewTask, TaskLimit } from '../../store/tasks.ts'
import type { ResolvedActivityOptions } from '../activity-options.ts'
import type { ActivityContext } from '../context/activity-context.ts'
import type { ActivityDefinition } from '../definitions.ts'
import type { ResolvedRetry } from '../retry.ts'
import { parseNow } from '../schema.ts'

/** What is needed to carry out an `activity` or `step` command. */
export interface ActivityWork {
  readonly name: string
  readonly options: ResolvedActivityOptions
  /** Encoded: read when the code is called, so that repeating the past reads nothing. */
  readonly input: string | undefined
  /** `undefined` while nobody here has registered its code. */
  readonly definition: ActivityDefinition | undefined
  /** The code of a step, written in place. */
  readonly step: ((ctx: ActivityContext) => unknown) | undefined
  /** When the code asked for it: the time of that turn. */
  readonly givenAt: number
  /** What it may not exceed, with whom. */
  readonly limit: TaskLimit | null
}

/** What a call may not exceed, if its activity has a limit. */
export function limitOf(activity: ActivityDefinition, input: unknown): TaskLimit | null {
  const { name, limit, input: schema } = activity
  if (limit === undefined) return null
  const { concurrency = null, rate = null, key } = limit
  if (key === undefined) return { key: JSON.stringify([name]), concurrency, rate }
  const parsed =
    schema === undefined ? input : parseNow(schema, input, `activity "${name}": its input`)
  let own: unknown
  try {
    own = key(parsed as never)
  } catch (error) {
    throw new TypeError(`activity "${name}": limit.key threw`, { cause: error })
  }
  if (typeof own === 'string' && own.length <= 500) {
    return { key: JSON.stringify([name, own]), concurrency, rate }
  }
  throw new TypeError(
    `activity "${name}": limit.key must return text of at most 500 characters, got ${describe(own)}`,
  )
}

/** When it has to be over, with all its attempts. */
export function deadlineOf({ givenAt, options }: ActivityWork): number {
  return givenAt + (options.totalTimeoutMs ?? Infinity)
}

/** When its first attempt has to have begun. */
export function startByOf({ givenAt, options }: ActivityWork): number {
  return givenAt + (options.startTimeoutMs ?? Infinity)
}

/** What travels with a task, beside its input. */
export interface TaskOptions {
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
  readonly heartbeatTimeoutMs: number | undefined
  /** When it has to be over, by the store's clock. */
  readonly deadline: number | undefined
  readonly idempotencyKey: string
  /** Whether others may wait for its limit. */
  readonly limited: boolean
}

/** An activity as a task. */
export function newTask(
  work: ActivityWork,
  command: number,
  idempotencyKey: string,
  attempts: number,
): NewTask {
  const { retry, timeoutMs, heartbeatTimeoutMs, tag, session } = work.options
  const [deadline, startBy] = [deadlineOf(work), startByOf(work)]
  const options: TaskOptions = {
    retry,
    timeoutMs,
    heartbeatTimeoutMs,
    deadline: deadline === Infinity ? undefined : deadline,
    idempotencyKey,
    limited: work.limit !== null,
  }
  return {
    command,
    activity: work.name,
    input: work.input!,
    tag,
    session,
    options: JSON.stringify(options),
    attempts,
    startBy: startBy === Infinity ? null : Math.ceil(startBy),
    limit: work.limit,
  }
}

/** Reads what `newTask` wrote. */
export function readTaskOptions(text: string): TaskOptions {
  return JSON.parse(text) as TaskOptions
}
