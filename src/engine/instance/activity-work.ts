import { randomInt } from 'node:crypto'

import type { NewTask, TaskLimit } from '../../store/tasks.ts'
import type { ActivityOptions, ResolvedActivityOptions } from '../define/activity-options.ts'
import type { ActivityContext } from '../define/activity-context.ts'
import type { ActivityDefinition } from '../define/definitions.ts'
import type { ResolvedRetry } from '../define/retry.ts'
import { computeLimitKey } from '../define/limit.ts'
import { parseNow } from '../core/parse-now.ts'
import { outsideExecution } from '../core/unhandled-rejections.ts'

// As large as randomInt() can draw.
const MAX_TOKEN = 2 ** 48 - 1

/** What is needed to carry out an `activity` or `step` command. */
export interface ActivityWork {
  readonly name: string
  readonly options: ResolvedActivityOptions
  /** Encoded. Decoded only when the code is called, so that replay decodes nothing. */
  readonly input: string | undefined
  /** `undefined` while its code is not registered here. */
  readonly definition: ActivityDefinition | undefined
  /** The code of a step, written in place. */
  readonly step: ((ctx: ActivityContext) => unknown) | undefined
  /** When the code asked for it: the time of that turn. */
  readonly givenAt: number
  /** The limit that it counts towards, if its activity has one. */
  readonly limit: TaskLimit | null
  /**
   * Of a contract whose code is not here: the options that the call does not name. The runtime that has
   * the code applies its own.
   */
  readonly unset?: readonly CodeOption[]
}

/** An option that concerns how the code is run, and not where: the runtime that runs it can apply it. */
export type CodeOption = 'retry' | 'timeout' | 'heartbeatTimeout' | 'totalTimeout'

const CODE_OPTIONS: readonly CodeOption[] = ['retry', 'timeout', 'heartbeatTimeout', 'totalTimeout']

/** Those that a call does not name. */
export function unsetOptions(given: ActivityOptions | undefined): readonly CodeOption[] {
  return CODE_OPTIONS.filter((name) => given?.[name] === undefined)
}

/** The limit that a call counts towards, if its activity has one. */
export function limitOf(activity: ActivityDefinition, input: unknown): TaskLimit | null {
  const { name, limit, input: schema } = activity
  if (limit === undefined) return null
  const { concurrency = null, rate = null, key } = limit
  if (key === undefined) return { key: JSON.stringify([name]), concurrency, rate }
  const parsed =
    schema === undefined ? input : parseNow(schema, input, `activity "${name}": its input`)
  const own = outsideExecution(() => computeLimitKey(`activity "${name}"`, key, parsed))
  return { key: JSON.stringify([name, own]), concurrency, rate }
}

/** When it times out, including all its attempts. */
export function deadlineOf({ givenAt, options }: ActivityWork): number {
  return givenAt + (options.totalTimeoutMs ?? Infinity)
}

/** By when its first attempt must have begun. */
export function startByOf({ givenAt, options }: ActivityWork): number {
  return givenAt + (options.startTimeoutMs ?? Infinity)
}

/** What travels with a task, beside its input. */
export interface TaskOptions {
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
  readonly heartbeatTimeoutMs: number | undefined
  /** When it times out, by the store's clock. */
  readonly deadline: number | undefined
  readonly idempotencyKey: string
  /** Whether other tasks may wait for its limit. */
  readonly limited: boolean
  /** The options that its owner takes from its own definition, see `ActivityWork`; left out for none. */
  readonly unset?: readonly CodeOption[]
  /** When the code called it; left out if no option is unset. */
  readonly givenAt?: number
  /** The trace of its instance, if that was started with tracing. */
  readonly trace?: string
}

/** A token for a task. It is unique, even in a database that hands out the same numbers again. */
export function newTaskToken(): number {
  return randomInt(1, MAX_TOKEN)
}

/** An activity as a task. */
export function newTask(
  work: ActivityWork,
  { tag, session }: Pick<NewTask, 'tag' | 'session'>,
  command: number,
  idempotencyKey: string,
  attempts: number,
  trace: string | undefined,
  token = newTaskToken(),
): NewTask {
  const { retry, timeoutMs, heartbeatTimeoutMs } = work.options
  const [deadline, startBy] = [deadlineOf(work), startByOf(work)]
  const options: TaskOptions = {
    retry,
    timeoutMs,
    heartbeatTimeoutMs,
    deadline: deadline === Infinity ? undefined : deadline,
    idempotencyKey,
    limited: work.limit !== null,
    ...(work.unset !== undefined && { unset: work.unset, givenAt: work.givenAt }),
    ...(trace !== undefined && { trace }),
  }
  return {
    command,
    token,
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

/** The options of a task as its owner applies them: what the call did not name comes from the code. */
export function completeTaskOptions(
  task: TaskOptions,
  { options: own }: ActivityDefinition,
): Pick<TaskOptions, 'retry' | 'timeoutMs' | 'heartbeatTimeoutMs' | 'deadline'> {
  const { unset, givenAt } = task
  if (unset === undefined || givenAt === undefined) return task
  const total = own.totalTimeoutMs
  return {
    retry: unset.includes('retry') ? own.retry : task.retry,
    timeoutMs: unset.includes('timeout') ? own.timeoutMs : task.timeoutMs,
    heartbeatTimeoutMs: unset.includes('heartbeatTimeout')
      ? own.heartbeatTimeoutMs
      : task.heartbeatTimeoutMs,
    deadline:
      unset.includes('totalTimeout') && total !== undefined ? givenAt + total : task.deadline,
  }
}
