import type { Duration } from '../../base/time/duration.ts'
import type { Logger } from '../../base/log.ts'
import type { AnyInbound, Channel, StateKey } from './channels.ts'
import type { StartOptions } from './instance.ts'
import type { ActivityOptions } from './activity-options.ts'
import type {
  AnyActivity,
  AnyWorkflow,
  Args,
  ChildOptions,
  InputOf,
  OutputOf,
  Workflow,
} from './definitions.ts'
import type { ActivityContext } from './activity-context.ts'

/** A promise whose result is recorded in history. Works with the native `Promise` combinators. */
export interface DurablePromise<T> extends Promise<T> {
  /**
   * Cancels the operation: the promise rejects with a `CancelledError`, an activity's signal aborts, a
   * child is closed. Does nothing once the promise is settled.
   */
  cancel(reason?: string): void
}

/** Another instance, as workflow code sees it. What it sends and reads there is recorded in history. */
export interface Remote {
  readonly id: string
  /** Sends a message to a channel of that instance, like `instance.send`. */
  send<In>(channel: Channel<In, unknown>, data: NoInfer<In>): DurablePromise<void>
  /** Reads the current value of a state key of that instance. */
  readState<T>(key: StateKey<T>): DurablePromise<T | undefined>
}

/** A running child: a promise for its result, and the instance itself. */
export interface Child<Out> extends DurablePromise<Out>, Remote {}

/** A request that the workflow received. Its sender waits until you call `reply` or `reject`. */
export interface Asked<In, Reply> {
  readonly input: In
  /** Resolves the sender's `request` with this value. */
  reply(value: Reply): void
  /** Rejects the sender's `request` with this error. */
  reject(error: Error): void
}

/** What `ctx.receive` resolves to: the message of a channel, or the request to answer. */
export type Received<C> =
  C extends Channel<never, unknown> ? OutputOf<C> : Asked<InputOf<C>, OutputOf<C>>

/** One of several things to wait for. A function runs in its own scope. */
export type Branch = DurablePromise<unknown> | ((ctx: WorkflowContext) => Promise<unknown>)

/** What a branch resolves to. */
export type ResultOf<B> = B extends (...args: never) => PromiseLike<infer T>
  ? T
  : B extends PromiseLike<infer T>
    ? T
    : never

/** The first branch of `ctx.race` to settle, by its key. */
export type Winner<B> = {
  [K in keyof B]: { readonly key: K; readonly value: ResultOf<B[K]> }
}[keyof B]

/**
 * Small values that an instance stores by key. Clients can read them, and `continueAsNew` keeps them.
 */
export interface State {
  get<T>(key: StateKey<T>): T | undefined
  set<T>(key: StateKey<T>, value: NoInfer<T>): void
  delete<T>(key: StateKey<T>): void
  /** Deletes all values. */
  clear(): void
  /** Returns the names of all keys that have a value. */
  keys(): readonly string[]
  /** Deletes the values that were last set longer ago than this; returns how many it deleted. */
  prune(olderThan: Duration): number
}

/**
 * The second argument of a workflow. `In` is the workflow's own input and only affects the type of
 * `continueAsNew`; helper functions can take a plain `WorkflowContext`.
 */
export interface WorkflowContext<In = never> {
  /** Which instance runs, and what it runs. */
  readonly info: {
    readonly id: string
    /** The number of this execution, from 1; `continueAsNew` starts the next one. */
    readonly execution: number
    readonly workflow: string
    readonly version: string
    /** The id of the parent, for a child. */
    readonly parentId?: string
    /** Whether the code is replaying recorded history, for example after a restart. */
    readonly replaying: boolean
  }
  /** Aborts when the instance, or the scope the code runs in, is cancelled. */
  readonly signal: AbortSignal
  /** Writes a line once its turn is committed; writes nothing during replay. */
  readonly log: Logger
  /** Values that the instance stores, and that clients can read. */
  readonly state: State
  /**
   * Runs an activity, or another workflow as a child. Once its result is recorded, replay returns that
   * result and never runs it again.
   */
  // One conditional signature: of two overloads the compiler reports the wrong one.
  run<D extends AnyActivity | AnyWorkflow>(
    definition: D,
    ...args: Args<InputOf<D>, D extends AnyActivity ? ActivityOptions : ChildOptions>
  ): D extends AnyActivity ? DurablePromise<OutputOf<D>> : Child<OutputOf<D>>
  /**
   * Runs inline code that has side effects, and records its result like that of an activity. A step
   * always runs in the same process as its workflow, so it has no `tag` or `session`.
   */
  step<T>(
    name: string,
    run: (ctx: ActivityContext) => T | Promise<T>,
    options?: Omit<ActivityOptions, 'tag' | 'session'>,
  ): DurablePromise<T>
  /**
   * Starts an independent instance, which is not a child. Resolves once it is started, without waiting
   * for its result.
   */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): DurablePromise<Remote>
  /** Returns the instance with this id, without checking that it exists. */
  get(id: string): Remote
  /** Waits for this long, even for months and across restarts. */
  sleep(duration: Duration): DurablePromise<void>
  /** Waits until this time. Resolves at once when it is in the past. */
  sleepUntil(when: Date): DurablePromise<void>
  /**
   * Waits for the next message of a channel, or the next request. Messages arrive in the order they
   * were sent. With a `timeout`, resolves to `undefined` when none arrives in time.
   */
  receive<C extends AnyInbound>(from: C): DurablePromise<Received<C>>
  receive<C extends AnyInbound>(
    from: C,
    options: { timeout: Duration },
  ): DurablePromise<Received<C> | undefined>
  /** Waits for all branches. When one fails, cancels the others. */
  all<const B extends readonly Branch[] | Readonly<Record<string, Branch>>>(
    branches: B,
  ): DurablePromise<{ -readonly [K in keyof B]: ResultOf<B[K]> }>
  /** Waits for the first branch to settle and returns its key and value; cancels the others. */
  race<const B extends Readonly<Record<string, Branch>>>(branches: B): DurablePromise<Winner<B>>
  /**
   * Runs code for each item, by default for all at once, and returns the results in the order of the
   * items. When one fails, cancels the others.
   */
  map<T, R>(
    items: readonly T[],
    run: (item: T, ctx: WorkflowContext, index: number) => Promise<R>,
    options?: { concurrency?: number },
  ): DurablePromise<R[]>
  /**
   * Runs code that is cancelled as a unit, by `cancel()` or after `timeout`. Whatever it leaves running
   * when it returns is cancelled, too.
   */
  scope<T>(
    run: (ctx: WorkflowContext) => Promise<T>,
    options?: { timeout?: Duration },
  ): DurablePromise<T>
  /** Runs clean-up code that a cancellation does not interrupt. */
  uncancellable<T>(run: (ctx: WorkflowContext) => Promise<T>): DurablePromise<T>
  /**
   * Runs code that registers how to undo its steps. When it fails or is cancelled, runs the registered
   * functions, the last first; a cancellation does not interrupt them.
   */
  saga<T>(
    run: (undo: (compensate: () => Promise<unknown>) => void) => Promise<T>,
  ): DurablePromise<T>
  /**
   * Ends this execution and starts the next one with a new input and an empty history. Keeps the state,
   * the progress and the messages that are waiting. Runs the latest registered version, unless you pass
   * a `version`.
   */
  continueAsNew(...args: Args<In, { version?: string }>): Promise<never>
  /**
   * Reports progress: a single value, which `info` and `watch` show once the turn is committed.
   * `undefined` clears it.
   */
  progress(value: unknown): void
  /** The time of this turn. Replay returns the same time. */
  now(): Date
  /** A random number in [0, 1). Replay returns the same number. */
  random(): number
  /** A random UUID. Replay returns the same one. */
  uuid(): string
  /**
   * Tells old instances from new ones when you change a workflow: true for an instance that reaches
   * this line for the first time, false for one that already passed it with the old code.
   */
  patched(change: string): boolean
}
