// Workflows and activities as module constants: a name, its types, and (unless it is only a
// contract) its code. A definition does nothing by itself; a runtime runs it.

import { describe } from '../../base/describe.ts'
import { type Duration, duration } from '../../base/time/duration.ts'
import { oneOf, option, resolveOptions } from '../../base/options.ts'
import type { OnParentClose } from '../../store/instances.ts'
import {
  ACTIVITY_OPTIONS,
  type ActivityOptions,
  activityOptions,
  type Limit,
  type ResolvedActivityOptions,
  type ResolvedLimit,
  resolveLimit,
} from './activity-options.ts'
import type { ActivityContext } from './activity-context.ts'
import type { WorkflowContext } from './workflow-context.ts'
import { checkSchema, type Schema } from './schema.ts'
import { checkId, checkName } from './names.ts'
import { NO_VERSION } from '../../store/instances.ts'
import { checkVersion } from '../../base/versions.ts'

/** Carries the types of a definition, and no value: so `AnyWorkflow` takes each one without `any`. */
export declare const types: unique symbol

/** A workflow: durable code, by name and version. */
export interface Workflow<In, Out> {
  readonly kind: 'workflow'
  readonly name: string
  readonly version: string
  readonly [types]?: (input: In) => Out
}

/** An activity: a side effect, by name. */
export interface Activity<In, Out> {
  readonly kind: 'activity'
  readonly name: string
  readonly [types]?: (input: In) => Out
}

/** Any workflow, whatever its types. */
export type AnyWorkflow = Workflow<never, unknown>
/** Any activity, whatever its types. */
export type AnyActivity = Activity<never, unknown>
/** What a definition takes. */
export type InputOf<D> = D extends { readonly [types]?: (input: infer I) => unknown } ? I : never
/** What a definition returns. */
export type OutputOf<D> = D extends { readonly [types]?: (input: never) => infer O } ? O : never
/** An input that may be undefined may be left out. */
export type Args<In, Options> = undefined extends In
  ? [input?: In, options?: Options]
  : [input: In, options?: Options]

/** How a workflow is run as a child. */
export interface ChildOptions {
  /** What the child is called; unique. @default one made from the parent's */
  id?: string
  /** Exactly this version. @default the latest that is registered here, or else where it is taken up */
  version?: string
  /** How long the child may take; then it is cancelled, and the parent gets a `TimeoutError`. */
  timeout?: Duration
  /**
   * What becomes of the child when its parent ends first: it is cancelled and may clean up, is
   * terminated at once, or goes on by itself.
   *
   * @default 'cancel'
   */
  onParentClose?: Exclude<OnParentClose, 'independent'>
}

/** Options of a workflow. */
export interface WorkflowOptions<In, Out, Parsed> {
  /**
   * Versions of one name stand side by side: what was started under one stays with it, and a new
   * start takes the latest.
   *
   * @default '1.0.0'
   */
  version?: string
  /** Checks and parses the input when the workflow is started, never again. */
  input?: Schema<In, Parsed>
  /** Checks what the code returns. A result that does not pass fails the instance. */
  output?: Schema<NoInfer<Out>, unknown>
  /** How long an execution may take; then it is cancelled and fails, with a `TimeoutError` as the cause. */
  timeout?: Duration
  /**
   * How long clean-up may take once the instance is cancelled; then it is ended as it stands.
   * Without an end, code that catches its cancellation and carries on would never stop.
   *
   * @default '10m'
   */
  cleanup?: Duration
  /**
   * How long an instance is kept after its end, with its history and state; then it is removed, and
   * its id is free. Whoever asks for the result later finds nothing. What a workflow started is kept
   * at least until the execution that did it ends. Counts for instances that end while it is set.
   *
   * @default for ever
   */
  retention?: Duration
}

/** Options of an activity's definition. */
export type ActivityDefinitionOptions<In, Parsed> = ActivityOptions & {
  /** Checks and parses the input before the code is called. */
  input?: Schema<In, Parsed>
  /** How many calls may run, over all runtimes. */
  limit?: Limit<Parsed>
}

/**
 * A definition without its code, which is in another service, or made once its services are. It has
 * no version of its own: a start that names none takes the latest that runs.
 */
export interface Contract<In, Out, Context, Definition, Options> {
  /**
   * The same definition with its code, and the options it runs with. They hold for every call that
   * names no others, also where the caller knows the contract alone; but `tag`, `session`,
   * `startTimeout` and `limit` say where and when a call may run, and are known to callers only in a
   * runtime that registers what this returns.
   */
  implement(run: (input: In, ctx: Context) => Out | Promise<Out>, options?: Options): Definition
}

/** A workflow with what the engine needs of it. */
export interface WorkflowDefinition extends Workflow<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly output: Schema<never, unknown> | undefined
  readonly timeoutMs: number | undefined
  readonly cleanupMs: number
  readonly retentionMs: number | undefined
  readonly run: ((input: never, ctx: WorkflowContext) => Promise<unknown>) | undefined
}

/** An activity with what the engine needs of it. */
export interface ActivityDefinition extends Activity<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly options: ResolvedActivityOptions
  readonly limit: ResolvedLimit | undefined
  readonly run: ((input: never, ctx: ActivityContext) => unknown) | undefined
  /** The kind of store that its code runs in a transaction of, with `ctx.tx`; of a plain activity none. */
  readonly transaction?: string
}

/** `ChildOptions`, checked and complete. */
export interface ResolvedChildOptions {
  readonly id: string | undefined
  readonly version: string | undefined
  readonly timeoutMs: number | undefined
  readonly onParentClose: Exclude<OnParentClose, 'independent'>
}

/** Defines a workflow: the name alone is a contract; with code it can be registered and run. */
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
    run: checkCode(owner, run) as WorkflowDefinition['run'],
  }
}

/** Defines an activity: the name alone is a contract; with code it can be registered and run. */
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

/** What follows the name: the code, or options and the code. */
function codeAndOptions(rest: readonly unknown[]): [run: unknown, options: unknown] {
  return rest.length >= 2 ? [rest[1], rest[0]] : [rest[0], undefined]
}

/** What was given for a child, checked. */
export function childOptions(owner: string, given: ChildOptions | undefined): ResolvedChildOptions {
  const { timeout, ...options } = resolveOptions(owner, given, {
    id: option(checkId, undefined),
    version: option(checkVersion, undefined),
    timeout: duration(undefined, { min: 1 }),
    onParentClose: oneOf(['cancel', 'terminate', 'abandon'], 'cancel'),
  })
  return { ...options, timeoutMs: timeout }
}

/** Code that must be there: without it, a contract would stay one. */
function requireCode(owner: string, code: unknown): unknown {
  if (typeof code === 'function') return code
  throw new TypeError(`${owner}: implement needs a function, got ${describe(code)}`)
}

function checkCode(owner: string, code: unknown): unknown {
  if (code === undefined || typeof code === 'function') return code
  throw new TypeError(`${owner}: its code must be a function, got ${describe(code)}`)
}
