import type { Duration } from '../../base/duration.ts'
import type { Logger } from '../../base/log.ts'
import type { ActivityContext } from './activity-context.ts'
import type { ActivityOptions, AnyActivity, Args, InputOf, OutputOf } from '../definitions.ts'

/** What workflow code waits for. Native `Promise` combinators work with it. */
export interface DurablePromise<T> extends Promise<T> {}

/** What the code of a workflow is given. `In` is the workflow's own input. */
export interface WorkflowContext<_In = never> {
  readonly info: {
    readonly id: string
    readonly execution: number
    readonly workflow: string
    readonly version: string
    /** True while the past is being repeated after a restart. */
    readonly replaying: boolean
  }
  /** Silent while replaying; lines are written once their turn is recorded. */
  readonly log: Logger
  /** Runs an activity. Its result is recorded; it is never started again after that. */
  run<D extends AnyActivity>(
    definition: D,
    ...args: Args<InputOf<D>, ActivityOptions>
  ): DurablePromise<OutputOf<D>>
  /** A side effect written in place; its result is recorded. */
  step<T>(
    name: string,
    run: (ctx: ActivityContext) => T | Promise<T>,
    options?: ActivityOptions,
  ): DurablePromise<T>
  /** Waits, for seconds or for months, over any number of restarts. */
  sleep(duration: Duration): DurablePromise<void>
  /** Waits until a moment; one in the past is over at once. */
  sleepUntil(when: Date): DurablePromise<void>
  /** The time of this turn: the same when the past is repeated. */
  now(): Date
}
