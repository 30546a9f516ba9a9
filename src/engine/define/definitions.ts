// Definitions of workflows and activities: a name, its types and, unless it is a contract, its code.
// A definition does nothing by itself; a runtime that registers it runs it.

import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { oneOf, option, resolveOptions } from '../../base/options.ts'
import type { OnParentClose } from '../../store/instances.ts'
import {
  ACTIVITY_OPTIONS,
  type ActivityOptions,
  activityOptions,
  type ResolvedActivityOptions,
} from './activity-options.ts'
import { type Limit, type ResolvedLimit, resolveLimit } from './limit.ts'
import type { ActivityContext } from './activity-context.ts'
import type { WorkflowContext } from './workflow-context.ts'
import { checkSchema, type Schema } from '../../base/schema.ts'
import { checkId, checkName } from './names.ts'
import { NO_VERSION } from '../../store/instances.ts'
import { checkVersion } from '../../base/versions.ts'

/** Carries the types of a definition and never a value, so that `AnyWorkflow` accepts all without `any`. */
export declare const types: unique symbol

/** A workflow: durable code with a name and a version. */
export interface Workflow<In, Out> {
  readonly kind: 'workflow'
  readonly name: string
  readonly version: string
  readonly [types]?: (input: In) => Out
}

/** An activity: code with side effects, by name. */
export interface Activity<In, Out> {
  readonly kind: 'activity'
  readonly name: string
  readonly [types]?: (input: In) => Out
}

/** Carries the type that a schema makes, as `types` does the others. */
export declare const parsed: unique symbol

/** An activity with a schema: it is called with `In`, and its code gets `Parsed`. */
export interface ParsingActivity<In, Out, Parsed> extends Activity<In, Out> {
  readonly [parsed]?: () => Parsed
}

/** Any workflow, whatever its types. */
export type AnyWorkflow = Workflow<never, unknown>
/** Any activity, whatever its types. */
export type AnyActivity = Activity<never, unknown>
/** The input type of a definition. */
export type InputOf<D> = D extends { readonly [types]?: (input: infer I) => unknown } ? I : never
/** The result type of a definition. */
export type OutputOf<D> = D extends { readonly [types]?: (input: never) => infer O } ? O : never
/** The arguments after a definition. The input is optional when its type includes `undefined`. */
export type Args<In, Options> = undefined extends In
  ? [input?: In, options?: Options]
  : [input: In, options?: Options]

/** Options of `ctx.run` for a child workflow. */
export interface ChildOptions {
  /** The id of the child, unique in the store. @default derived from the parent's id */
  id?: string
  /**
   * Runs exactly this version.
   *
   * @default the latest registered here, or else in the runtime that claims it
   */
  version?: string
  /** The time limit of the child: it is cancelled, and `ctx.run` rejects with a `TimeoutError`. @default none */
  timeout?: Duration
  /**
   * What happens to the child when its parent ends first: `cancel` it, so that its clean-up runs,
   * `terminate` it at once, or `abandon` it, so that it continues on its own.
   *
   * @default 'cancel'
   */
  onParentClose?: Exclude<OnParentClose, 'independent'>
}

/** Options of a workflow. */
export interface WorkflowOptions<In, Out, Parsed> {
  /**
   * A semantic version. You can register several versions of a workflow: an instance keeps the version
   * it was started with, and a new start takes the latest.
   *
   * @default '1.0.0'
   */
  version?: string
  /** Validates and parses the input when the workflow is started. */
  input?: Schema<In, Parsed>
  /** Validates the result. An invalid result fails the instance. */
  output?: Schema<NoInfer<Out>, unknown>
  /**
   * The time limit of an execution: it is cancelled and fails, with a `TimeoutError` as the cause.
   *
   * @default none
   */
  timeout?: Duration
  /**
   * How long clean-up may take after a cancellation; then the instance ends in any case. Without this
   * limit, code that catches the `CancelledError` and carries on would never stop.
   *
   * @default '10m'
   */
  cleanup?: Duration
  /**
   * How long to keep an instance after its end, with its history, state and result. Then it is removed
   * and its id can be used again. Instances that a workflow started are kept at least until the
   * execution that started them ends. The history of an execution that continued as new is removed as
   * long after that. Also applies to what ended before there was a retention.
   *
   * @default the `retention` of `open`; without it, forever
   */
  retention?: Duration
  /**
   * Limits how many instances of this workflow run, of all its versions and across all runtimes. A start
   * without a place waits, with the status `scheduled`. The runtime that registers last decides.
   *
   * @default no limit
   */
  limit?: Limit<Parsed>
}

/** Options of the definition of an activity. */
export type ActivityDefinitionOptions<In, Parsed> = ActivityOptions & {
  /** Validates and parses the input before the code runs. */
  input?: Schema<In, Parsed>
  /** Limits how many calls run, across all runtimes. */
  limit?: Limit<Parsed>
}

/**
 * A definition without code: the code is in another service, or needs services that exist only later.
 * A contract has no version: a start without a version takes the latest one that runs.
 */
export interface Contract<In, Out, Context, Definition, Options> {
  /**
   * Returns this definition with its code and options. The options apply to every call that does not
   * override them, even when the caller has only the contract. The exceptions are `tag`, `session`,
   * `startTimeout` and `limit`, which decide where and when a call may run: they apply only to callers
   * in a runtime that registers the implementation.
   */
  implement(run: (input: In, ctx: Context) => Out | Promise<Out>, options?: Options): Definition
}

/** A workflow as the engine sees it. */
export interface WorkflowDefinition extends Workflow<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly output: Schema<never, unknown> | undefined
  readonly timeoutMs: number | undefined
  readonly cleanupMs: number
  readonly retentionMs: number | undefined
  readonly limit: ResolvedLimit | undefined
  readonly run: ((input: never, ctx: WorkflowContext) => Promise<unknown>) | undefined
}

/** An activity as the engine sees it. */
export interface ActivityDefinition extends Activity<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly options: ResolvedActivityOptions
  readonly limit: ResolvedLimit | undefined
  readonly run: ((input: never, ctx: ActivityContext) => unknown) | undefined
  /** For a transaction, the kind of store whose transactions it runs in. */
  readonly transaction?: string
}

/** `ChildOptions`, validated and complete. */
export interface ResolvedChildOptions {
  readonly id: string | undefined
  readonly version: string | undefined
  readonly timeoutMs: number | undefined
  readonly onParentClose: Exclude<OnParentClose, 'independent'>
}

/** Defines a workflow. A name alone is a contract; with code, a runtime can register and run it. */
export function workflow<In, Out>(
  name: string,
): Workflow<In, Out> &
  Contract<In, Out, WorkflowContext<In>, Workflow<In, Out>, WorkflowOptions<In, Out, In>>
export function workflow<In, Out>(
  name: string,
  run: (input: In, ctx: WorkflowContext<In>) => Promise<Out>,
): Workflow<In, Out>
export function workflow<Out, Parsed, In = Parsed>(
  name: string,
  options: WorkflowOptions<In, Out, Parsed>,
  run: (input: Parsed, ctx: WorkflowContext<In>) => Promise<Out>,
): Workflow<In, Out>
export function workflow(name: string, ...rest: unknown[]): unknown {
  const owner = `workflow ${checkName('workflow', name)}`
  if (rest.length > 0) return defineWorkflow(owner, name, ...codeAndOptions(rest))
  return {
    ...defineWorkflow(owner, name, undefined, undefined),
    version: NO_VERSION,
    implement: (run: unknown, options?: unknown) =>
      defineWorkflow(owner, name, requireCode(owner, run), options),
  }
}

function defineWorkflow(
  owner: string,
  name: string,
  run: unknown,
  given: unknown,
): WorkflowDefinition {
  const options = resolveOptions(owner, given as object | undefined, {
    version: option(checkVersion, '1.0.0'),
    input: option(checkSchema, undefined),
    output: option(checkSchema, undefined),
    timeout: duration(undefined, { min: 1 }),
    cleanup: duration(600_000),
    retention: duration(undefined, { min: 1_000 }),
    limit: option(resolveLimit, undefined),
  })
  return {
    kind: 'workflow',
    name,
    version: options.version,
    input: options.input as Schema<never, unknown> | undefined,
    output: options.output as Schema<never, unknown> | undefined,
    timeoutMs: options.timeout,
    cleanupMs: options.cleanup,
    retentionMs: options.retention,
    limit: options.limit,
    run: checkCode(owner, run) as WorkflowDefinition['run'],
  }
}

/** Defines an activity. A name alone is a contract; with code, a runtime can register and run it. */
export function activity<In, Out>(
  name: string,
): Activity<In, Out> &
  Contract<In, Out, ActivityContext, Activity<In, Out>, ActivityDefinitionOptions<In, In>>
export function activity<In, Out>(
  name: string,
  run: (input: In, ctx: ActivityContext) => Out | Promise<Out>,
): Activity<In, Out>
export function activity<Out, Parsed, In = Parsed>(
  name: string,
  options: ActivityDefinitionOptions<In, Parsed> & { input: Schema<In, Parsed> },
  run: (input: Parsed, ctx: ActivityContext) => Out | Promise<Out>,
): ParsingActivity<In, Out, Parsed>
export function activity<Out, Parsed, In = Parsed>(
  name: string,
  options: ActivityDefinitionOptions<In, Parsed>,
  run: (input: Parsed, ctx: ActivityContext) => Out | Promise<Out>,
): Activity<In, Out>
export function activity(name: string, ...rest: unknown[]): unknown {
  const owner = `activity ${checkName('activity', name)}`
  if (rest.length > 0) return defineActivity(owner, name, ...codeAndOptions(rest))
  return {
    ...defineActivity(owner, name, undefined, undefined),
    implement: (run: unknown, options?: unknown) =>
      defineActivity(owner, name, requireCode(owner, run), options),
  }
}

function defineActivity(
  owner: string,
  name: string,
  run: unknown,
  given: unknown,
): ActivityDefinition {
  const { input, limit, ...options } = resolveOptions(owner, given as object | undefined, {
    ...ACTIVITY_OPTIONS,
    input: option(checkSchema, undefined),
    limit: option(resolveLimit, undefined),
  })
  return {
    kind: 'activity',
    name,
    input: input as Schema<never, unknown> | undefined,
    options: activityOptions(options),
    limit,
    run: checkCode(owner, run) as ActivityDefinition['run'],
  }
}

/** Splits the arguments after the name: the code, or the options and the code. */
function codeAndOptions(rest: readonly unknown[]): [run: unknown, options: unknown] {
  return rest.length >= 2 ? [rest[1], rest[0]] : [rest[0], undefined]
}

/** Validates the options of a child. */
export function childOptions(owner: string, given: ChildOptions | undefined): ResolvedChildOptions {
  const { timeout, ...options } = resolveOptions(owner, given, {
    id: option(checkId, undefined),
    version: option(checkVersion, undefined),
    timeout: duration(undefined, { min: 1 }),
    onParentClose: oneOf(['cancel', 'terminate', 'abandon'], 'cancel'),
  })
  return { ...options, timeoutMs: timeout }
}

/** Without code, an implementation would still be a contract. */
function requireCode(owner: string, code: unknown): unknown {
  if (typeof code === 'function') return code
  throw new TypeError(`${owner}: implement needs a function, got ${describe(code)}`)
}

function checkCode(owner: string, code: unknown): unknown {
  if (code === undefined || typeof code === 'function') return code
  throw new TypeError(`${owner}: the code must be a function, got ${describe(code)}`)
}
