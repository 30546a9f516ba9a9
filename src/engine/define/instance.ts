import type { Duration } from '../../base/time/duration.ts'
import type { Channel, Letter, RequestChannel, StateKey } from './channels.ts'

/** The life cycle of an instance. */
export type Status =
  'scheduled' | 'running' | 'suspended' | 'completed' | 'failed' | 'cancelled' | 'terminated'

/** An instance as people see it. */
export interface InstanceInfo {
  readonly id: string
  readonly workflow: string
  /** Empty while nobody has taken up an instance whose start named none: see `StartOptions`. */
  readonly version: string
  /**
   * `scheduled`: no runtime has taken it up yet. `suspended`: set aside, by somebody or because it
   * cannot go on; `error` says why, `resume()` lets it go on.
   */
  readonly status: Status
  /** What the workflow last gave to `ctx.progress`; `undefined` before that. */
  readonly progress: unknown
  /** Executions count from 1. */
  readonly execution: number
  /** As given at the start. */
  readonly labels: Readonly<Record<string, string>>
  /** The instance whose code started this one. */
  readonly parentId?: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly finishedAt?: Date
  /**
   * What it waits for, in words: activities and steps with their attempt, the last error, the next
   * time, since when and where they run, or why nobody runs them; timers, messages, children.
   */
  readonly waitingFor: readonly string[]
  /** What it returned, once it is `completed`. */
  readonly output?: unknown
  /** Why it failed, was cancelled or terminated, or is suspended. */
  readonly error?: { readonly name: string; readonly message: string }
}

/** How long to wait for something. */
export interface Wait {
  /** Rejects with a `TimeoutError` after this. By default there is no limit. */
  timeout?: Duration
  /** Rejects with its reason when it aborts. */
  signal?: AbortSignal
}

/** How a message is sent. */
export interface SendOptions {
  /**
   * Sent again under the same key, to the same instance, a message is dropped, also when the
   * instance has ended since: for callers that cannot know whether their first try arrived.
   */
  dedupeKey?: string
}

/** One run of a workflow, by id. */
export interface Instance<Out = unknown> {
  readonly id: string
  /**
   * Waits for the end and returns the result. Rejects with what the workflow threw: a failure as
   * itself, anything else as a `WorkflowError`; with a `CancelledError` when it was cancelled.
   */
  result(options?: Wait): Promise<Out>
  /**
   * Puts a message into a channel; resolves when it is stored. An instance that is not there yet
   * finds it when it starts; one that has ended, or a full channel, is an error.
   */
  send<In>(channel: Channel<In, unknown>, data: NoInfer<In>, options?: SendOptions): Promise<void>
  /**
   * Sends a message and waits for the answer; rejects with what the workflow rejected it with. When
   * the wait is over the request stays: sent again under the same `dedupeKey`, it gets that answer.
   */
  request<I, R>(
    request: RequestChannel<I, R>,
    input: NoInfer<I>,
    options?: Wait & SendOptions,
  ): Promise<R>
  /**
   * Asks for the end: what the workflow waits for rejects with a `CancelledError`, and its clean-up
   * runs. Resolves when that is stored, not when it has ended. Does nothing to one that has ended.
   */
  cancel(reason?: string): Promise<void>
  /** Ends it at once, without clean-up. Does nothing to one that has ended. */
  terminate(reason?: string): Promise<void>
  /** Sets it aside, whoever runs it, until `resume()`. Messages go on waiting for it. */
  suspend(reason?: string): Promise<void>
  /**
   * Lets a suspended instance go on, after a fix or a pause. Does nothing to one that is not
   * suspended; one that has ended is a `ConflictError`.
   */
  resume(): Promise<void>
  /** How it is doing; `undefined` when there is no such instance. */
  info(): Promise<InstanceInfo | undefined>
  /** How it is doing now, and again at each change of status, progress or execution, to its end. */
  watch(options?: { signal?: AbortSignal }): AsyncIterable<InstanceInfo>
  /** A value that the workflow keeps, also after its end; `undefined` when it keeps none. */
  readState<T>(key: StateKey<T>): Promise<T | undefined>
  /**
   * What happened in an execution, in order; by default in the latest. Errors in it are plain data:
   * `name`, `message`, `stack`, `cause`, and what else they carry.
   */
  history(options?: { execution?: number }): AsyncIterable<HistoryEvent>
  /**
   * A new instance with the same past up to an event of the latest execution, which then goes on
   * with the code of today: to repair what went wrong after that event, or to try a change.
   */
  fork(options: ForkOptions): Promise<Instance<Out>>
  /** An execution as plain data: for a bug report, for a test of replay, for another store. */
  export(options?: ExportOptions): Promise<ExportedHistory>
}

/** Where a fork leaves the past. */
export interface ForkOptions {
  /** The `seq` of the last event that both have in common. */
  at: number
  /** @default a new UUID, version 7 */
  id?: string
}

/** One thing that happened in an execution. */
export interface HistoryEvent {
  /** 1 for the first event of an execution. */
  readonly seq: number
  /** `started`, `activity`, `completed`, `timer`, `fired`, …, `ended`. */
  readonly type: string
  /** When its turn ran, by the store's clock. */
  readonly at: Date
  /** What there is to know about it, by its type. */
  readonly data: unknown
}

/** What is exported, and what is left out of it. */
export interface ExportOptions {
  /** @default the latest */
  execution?: number
  /**
   * Called for each value (inputs, results, messages, state); what it returns stands in the export
   * instead. A history whose values were changed still replays, if the code decides nothing by them.
   */
  redact?: (value: unknown, at: { readonly seq: number; readonly type: string }) => unknown
}

/**
 * One execution of an instance as plain data. `JSON.stringify` keeps all of it, and
 * `client.import` takes what `JSON.parse` makes of that.
 */
export interface ExportedHistory {
  /** The form it is written in. */
  readonly holdfast: 1
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly execution: number
  readonly events: readonly HistoryEvent[]
}

/** How an instance is made from an export. */
export interface ImportOptions {
  /** @default the id in the export */
  id?: string
  /** @default none */
  labels?: Record<string, string>
}

/** How an instance is started. */
export interface StartOptions {
  /** What you call it; unique among all instances. @default a new UUID, version 7 */
  id?: string
  /**
   * When an instance of this workflow has the id: `return` that one (and log if the input differs),
   * be refused with a `ConflictError`, or `restart`: end and remove it, and start anew. An id of
   * another workflow is a `ConflictError` in any case.
   *
   * @default 'return'
   */
  onConflict?: 'return' | 'error' | 'restart'
  /** How long it waits before its first turn; until then its status is `scheduled`. */
  delay?: Duration
  /**
   * Exactly this version.
   *
   * @default the latest that the runtimes have when one of them first takes the instance up
   */
  version?: string
  /** For people and filters. */
  labels?: Record<string, string>
  /** A message that is there from the start: `message(channel, data)`. */
  send?: Letter
}
