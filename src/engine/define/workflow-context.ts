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

/** What workflow code waits for. Native `Promise` combinators work with it. */
export interface DurablePromise<T> extends Promise<T> {
  /**
   * Calls it off: the promise rejects with a `CancelledError`, an activity's signal aborts, a child
   * is closed. Does nothing once it is settled.
   */
  cancel(reason?: string): void
}

/** An instance that workflow code talks to. What it sends and reads there is part of its history. */
export interface Remote {
  readonly id: string
  /** Puts a message into a channel of that instance, as `instance.send` does. */
  send<In>(channel: Channel<In, unknown>, data: NoInfer<In>): DurablePromise<void>
  /** A value that the other instance keeps, as of now. */
  readState<T>(key: StateKey<T>): DurablePromise<T | undefined>
}

/** A child that runs: its result, and the instance itself. */
export interface Child<Out> extends DurablePromise<Out>, Remote {}

/** A request that was received. Its sender waits until one of the two answers is given. */
export interface Asked<In, Reply> {
  readonly input: In
  reply(value: Reply): void
  /** The sender's `request` rejects with this error. */
  reject(error: Error): void
}

/** What `receive` brings: of a channel its message, of a request the question to be answered. */
export type Received<C> =
  C extends Channel<never, unknown> ? OutputOf<C> : Asked<InputOf<C>, OutputOf<C>>

/** Something to be waited for beside others. A function runs in a scope of its own. */
export type Branch = DurablePromise<unknown> | ((ctx: WorkflowContext) => Promise<unknown>)

/** What comes out of a branch. */
export type ResultOf<B> = B extends (...args: never) => PromiseLike<infer T>
  ? T
  : B extends PromiseLike<infer T>
    ? T
    : never

/** The branch that came first, by its key. */
export type Winner<B> = {
  [K in keyof B]: { readonly key: K; readonly value: ResultOf<B[K]> }
}[keyof B]

/** Values that an instance keeps by name: small, readable from outside, kept over continue-as-new. */
export interface State {
  get<T>(key: StateKey<T>): T | undefined
  set<T>(key: StateKey<T>, value: NoInfer<T>): void
  delete<T>(key: StateKey<T>): void
  /** Deletes all of it. */
  clear(): void
  /** The names of all keys that have a value. */
  keys(): readonly string[]
  /** Deletes what was last set longer ago than this; returns how many values that were. */
  prune(olderThan: Duration): number
}

/**
 * What the code of a workflow is given. `In` is the workflow's own input and only types
 * `continueAsNew`; helper functions take a plain `WorkflowContext`.
 */
export interface WorkflowContext<In = never> {
  readonly info: {
    readonly id: string
    readonly execution: number
    readonly workflow: string
    readonly version: string
    /** The instance whose code started this one. */
    readonly parentId?: string
    /** True while the past is being repeated after a restart. */
    readonly replaying: boolean
  }
  /** Aborts when the instance, or the scope that the code is in, is cancelled. */
  readonly signal: AbortSignal
  /** Silent while replaying; lines are written once their turn is recorded. */
  readonly log: Logger
  /** What the instance keeps for itself and for others to read. */
  readonly state: State
  /**
   * Calls an activity, or another workflow as a child of this one. Once its result is recorded it is
   * never started again.
   */
  // One conditional signature: of two overloads the compiler reports the wrong one.
  run<D extends AnyActivity | AnyWorkflow>(
    definition: D,
    ...args: Args<InputOf<D>, D extends AnyActivity ? ActivityOptions : ChildOptions>
  ): D extends AnyActivity ? DurablePromise<OutputOf<D>> : Child<OutputOf<D>>
  /**
   * Runs code with a side effect where it stands, and records its result, as of an activity. It always
   * runs in the process of its workflow, so `tag` and `session` are no options of it.
   */
  step<T>(
    name: string,
    run: (ctx: ActivityContext) => T | Promise<T>,
    options?: Omit<ActivityOptions, 'tag' | 'session'>,
  ): DurablePromise<T>
  /** Starts an instance that goes its own way; waits until it is started, not for its result. */
  start<I, O>(
    workflow: Workflow<I, O>,
    ...args: Args<NoInfer<I>, StartOptions>
  ): DurablePromise<Remote>
  /** Another instance by id, whether it exists or not. */
  get(id: string): Remote
  /** Waits, for seconds or for months, over any number of restarts. */
  sleep(duration: Duration): DurablePromise<void>
  /** Waits until a moment; one in the past is over at once. */
  sleepUntil(when: Date): DurablePromise<void>
  /**
   * Waits for the next message of a channel, or the next request. Messages are taken in the order
   * they came; with a `timeout`, one that never came is `undefined`.
   */
  receive<C extends AnyInbound>(from: C): DurablePromise<Received<C>>
  receive<C extends AnyInbound>(
    from: C,
    options: { timeout: Duration },
  ): DurablePromise<Received<C> | undefined>
  /** Waits for all branches; when one fails the others are cancelled. */
  all<const B extends readonly Branch[] | Readonly<Record<string, Branch>>>(
    branches: B,
  ): DurablePromise<{ -readonly [K in keyof B]: ResultOf<B[K]> }>
  /** Waits for the first branch to settle, and says which; the others are cancelled. */
  race<const B extends Readonly<Record<string, Branch>>>(branches: B): DurablePromise<Winner<B>>
  /**
   * Runs code for each item and returns the results in the order of the items; when one fails the
   * others are cancelled. By default all run at once.
   */
  map<T, R>(
    items: readonly T[],
    run: (item: T, ctx: WorkflowContext, index: number) => Promise<R>,
    options?: { concurrency?: number },
  ): DurablePromise<R[]>
  /** Runs code that is cancelled as one, when its time is over or when it is left behind. */
  scope<T>(
    run: (ctx: WorkflowContext) => Promise<T>,
    options?: { timeout?: Duration },
  ): DurablePromise<T>
  /** Runs code that a cancellation does not reach: clean-up. */
  uncancellable<T>(run: (ctx: WorkflowContext) => Promise<T>): DurablePromise<T>
  /**
   * Runs code that notes how to undo what it did. When it fails or is cancelled, what was noted is
   * run, the last first, out of reach of any cancellation.
   */
  saga<T>(
    run: (undo: (compensate: () => Promise<unknown>) => void) => Promise<T>,
  ): DurablePromise<T>
  /**
   * Ends this execution and begins the next one, with a new input and an empty history. State,
   * progress and waiting messages stay. Without a `version`, the latest that is registered runs.
   */
  continueAsNew(...args: Args<In, { version?: string }>): Promise<never>
  /** Says how far it is: one value, which watchers see once the turn is recorded. */
  progress(value: unknown): void
  /** The time of this turn: the same when the past is repeated. */
  now(): Date
  /** A number from 0 up to 1, without 1: the same when the past is repeated. */
  random(): number
  /** A UUID: the same when the past is repeated. */
  uuid(): string
  /**
   * Whether a change of the code holds here: true for an instance that reaches this place for the
   * first time, false for one that passed it under the old code. Lets both live side by side.
   */
  patched(change: string): boolean
}
