import type { Duration } from '../../base/duration.ts'

/** The life cycle of an instance. */
export type Status =
  'scheduled' | 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled' | 'terminated'

/** An instance as people see it. */
export interface InstanceInfo {
  readonly id: string
  readonly workflow: string
  readonly version: string
  /** `suspended`: set aside because it cannot go on; `error` says why, `resume()` tries again. */
  readonly status: Status
  /** Executions count from 1. */
  readonly execution: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly finishedAt?: Date
  /** What it waits for, in words: activities, steps, timers. */
  readonly waitingFor: readonly string[]
  /** Why it failed or was suspended. */
  readonly error?: { readonly name: string; readonly message: string }
}

/** How long to wait for something. */
export interface Wait {
  /** Rejects with a `TimeoutError` after this. By default there is no limit. */
  timeout?: Duration
  /** Rejects with its reason when it aborts. */
  signal?: AbortSignal
}

/** One run of a workflow, by id. */
export interface Instance<Out = unknown> {
  readonly id: string
  /**
   * Waits for the end and returns the result. Rejects with what the workflow threw: a failure as
   * itself, anything else as a `WorkflowError`.
   */
  result(options?: Wait): Promise<Out>
  /** How it is doing; `undefined` when there is no such instance. */
  info(): Promise<InstanceInfo | undefined>
  /** Lets an instance that was set aside try again, after a fix. Does nothing to others. */
  resume(): Promise<void>
}

/** How an instance is started. */
export interface StartOptions {
  /**
   * What you call it. Starting an id that exists returns that instance, and logs when the input
   * differs; an id of another workflow is a `ConflictError`.
   *
   * @default a new UUID, version 7
   */
  id?: string
}
