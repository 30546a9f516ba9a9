import type { Duration } from '../../base/time/duration.ts'
import type { Channel, Letter, RequestChannel, StateKey } from './channels.ts'

/** Where an instance is in its life. */
export type Status =
  | 'scheduled'
  | 'running'
  | 'suspended'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'terminated'

/** A snapshot of an instance. */
export interface InstanceInfo {
  readonly id: string
  readonly workflow: string
  /** Empty until a runtime claims an instance that was started without a version. */
  readonly version: string
  /**
   * `scheduled`: no runtime has claimed it yet. `suspended`: by `suspend()`, or because it cannot
   * continue; `error` has the reason, and `resume()` lets it continue.
   */
  readonly status: Status
  /** The last value passed to `ctx.progress`; `undefined` before the first, or if it cannot be read. */
  readonly progress: unknown
  /**
   * Grows each time the progress is set, also to the value that it had: 0 before the first. Several calls of
   * `ctx.progress` in one turn count once.
   */
  readonly progressVersion: number
  /** The number of its latest execution, from 1. */
  readonly execution: number
  /** The labels given at the start. */
  readonly labels: Readonly<Record<string, string>>
  /** The id of the parent, for a child. */
  readonly parentId?: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly finishedAt?: Date
  /**
   * What the instance waits for, as text for people: timers, messages, children, activities and steps.
   * For an activity or step it names the attempt, the last error, the time of the next attempt, since
   * when and where it runs, or why no runtime runs it.
   */
  readonly waitingFor: readonly string[]
  /** The result, once it is `completed`; missing if it cannot be read. */
  readonly output?: unknown
  /**
   * Why it failed, was cancelled or terminated, or is suspended. With the name `UnreadableValue`: why this
   * process cannot read the error, the output or the progress, such as a missing key.
   */
  readonly error?: { readonly name: string; readonly message: string }
}

/** How long to wait. */
export interface Wait {
  /** Rejects with a `TimeoutError` after this time. @default no limit */
  timeout?: Duration
  /** Rejects with the signal's reason when it aborts. */
  signal?: AbortSignal
}

/** Options of `send` and `request`. */
export interface SendOptions {
  /**
   * Makes a retry safe: a second message with the same key to the same instance is dropped, even when
   * the instance has ended since.
   */
  dedupeKey?: string
}

/** A handle to one run of a workflow, by id. */
export interface Instance<Out = unknown> {
  readonly id: string
  /**
   * Waits until the instance ends and returns its result. Rejects with the failure that the workflow
   * threw, with a `WorkflowError` for any other error, or with a `CancelledError` when it was cancelled.
   */
  result(options?: Wait): Promise<Out>
  /**
   * Sends a message to a channel. Resolves once it is stored. An instance that has not started yet
   * receives it after its start. Throws when the instance has ended or the channel is full.
   */
  send<In>(channel: Channel<In, unknown>, data: NoInfer<In>, options?: SendOptions): Promise<void>
  /**
   * Sends a request and waits for the reply. Rejects with the error that the workflow rejects it with.
   * A timeout does not withdraw the request: send it again with the same `dedupeKey` to get its reply.
   */
  request<I, R>(
    request: RequestChannel<I, R>,
    input: NoInfer<I>,
    options?: Wait & SendOptions,
  ): Promise<R>
  /**
   * Requests cancellation: what the workflow awaits rejects with a `CancelledError`, and its clean-up
   * runs. Resolves once the request is stored, before the instance ends. Does nothing to an instance
   * that has ended.
   */
  cancel(reason?: string): Promise<void>
  /** Ends the instance at once, without clean-up. Does nothing to an instance that has ended. */
  terminate(reason?: string): Promise<void>
  /** Pauses the instance until `resume()`, in whatever process it runs. Messages wait for it. */
  suspend(reason?: string): Promise<void>
  /**
   * Lets a suspended instance continue, for example after you fixed its code. Does nothing to an
   * instance that is not suspended. Throws a `ConflictError` when it has ended.
   */
  resume(): Promise<void>
  /** Returns a snapshot; `undefined` when there is no such instance. */
  info(): Promise<InstanceInfo | undefined>
  /** Yields a snapshot now and at each change of status, progress or execution, until it ends. */
  watch(options?: { signal?: AbortSignal }): AsyncIterable<InstanceInfo>
  /** Reads a value of the workflow's state, even after its end; `undefined` when it has none. */
  readState<T>(key: StateKey<T>): Promise<T | undefined>
  /**
   * Yields the events of an execution in order, by default of the latest. Errors are plain objects with
   * `name`, `message`, `stack`, `cause` and their own properties.
   */
  history(options?: HistoryOptions): AsyncIterable<HistoryEvent>
  /**
   * Creates an instance that shares the history of this one up to an event of its latest execution, and
   * continues from there with today's code: to repair what went wrong after that event, or to try out a
   * change.
   */
  fork(options: ForkOptions): Promise<Instance<Out>>
  /** Exports an execution as plain data: for a bug report, a replay test, or another store. */
  export(options?: ExportOptions): Promise<ExportedHistory>
}

/** Options of `history`. */
export interface HistoryOptions {
  /** @default the latest */
  execution?: number
  /** Begins behind the event with this `seq`. @default 0, before the first */
  after?: number
}

/** Options of `fork`. */
export interface ForkOptions {
  /** The `seq` of the last event that both instances share. */
  at: number
  /** The id of the new instance. @default a new UUID, version 7 */
  id?: string
}

/** One event of an execution. */
export interface HistoryEvent {
  /** Its number within the execution, from 1. */
  readonly seq: number
  /** `started`, `activity`, `completed`, `timer`, `fired`, …, `ended`. */
  readonly type: string
  /** The time of its turn, by the store's clock. */
  readonly at: Date
  /** Its details, which depend on the type. */
  readonly data: unknown
}

/** Options of `export`. */
export interface ExportOptions {
  /** @default the latest */
  execution?: number
  /**
   * Replaces values (inputs, results, messages, state): the export contains what this returns for each.
   * `checkReplay` and `checkAgainst` of `holdfast/testing` then compare only kinds and names, so that a
   * redacted history replays as long as the code does not branch on replaced values, nor fails on them.
   */
  redact?: (value: unknown, at: { readonly seq: number; readonly type: string }) => unknown
}

/**
 * One execution of an instance as plain data. It survives `JSON.stringify` and `JSON.parse`, and
 * `client.import` accepts it.
 */
export interface ExportedHistory {
  /** The version of the format. */
  readonly holdfast: 1
  readonly id: string
  readonly workflow: string
  readonly version: string
  readonly execution: number
  /** Whether values were replaced by `redact`. */
  readonly redacted?: true
  readonly events: readonly HistoryEvent[]
}

/** Options of `client.import`. */
export interface ImportOptions {
  /** @default the id in the export */
  id?: string
  /** @default none */
  labels?: Record<string, string>
}

/** Options of `start`. */
export interface StartOptions {
  /** The id of the instance, unique in the store. @default a new UUID, version 7 */
  id?: string
  /**
   * What to do when an instance of this workflow already has the id: `return` it (and log a warning if
   * the input differs), throw an `error` (a `ConflictError`), or `restart` it: end and remove it, and
   * start anew. If an instance of another workflow has the id, `start` always throws a `ConflictError`.
   *
   * @default 'return'
   */
  onConflict?: 'return' | 'error' | 'restart'
  /** Delays the first turn; until then the status is `scheduled`. @default no delay */
  delay?: Duration
  /**
   * Runs exactly this version.
   *
   * @default the latest that the runtimes have when one of them first claims the instance
   */
  version?: string
  /** Text that `info` shows, for people and for filters. @default none */
  labels?: Record<string, string>
  /**
   * Which instances of a workflow run first while there are more than the runtimes or its limit take: those
   * with the higher priority, an integer from -1000 to 1000; among equals, those that were due first. A
   * steady flow of high priorities keeps low ones waiting.
   *
   * @default 0
   */
  priority?: number
  /** A message that the instance finds when it starts: `message(channel, data)`. */
  send?: Letter
}
