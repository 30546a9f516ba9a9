// Workflows and activities as module constants: a name, its types, and (unless it is only a
// contract) its code. A definition does nothing by itself; a runtime runs it.

import { describe } from '../base/describe.ts'
import type { Duration } from '../base/duration.ts'
import { duration, option, resolveOptions } from '../base/options.ts'
import type { ActivityContext } from './context/activity-context.ts'
import type { WorkflowContext } from './context/workflow-context.ts'
import { type ResolvedRetry, type Retry, resolveRetry } from './retry.ts'
import { checkSchema, type Schema } from './schema.ts'

declare const types: unique symbol // phantom: contravariant in, covariant out, so lists need no `any`

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

/** How an activity is run. */
export interface ActivityOptions {
  /** How it is tried again when it fails. */
  retry?: Retry
  /** How long one attempt may take; then its signal aborts and it counts as failed. */
  timeout?: Duration
}

/** Options of a workflow. */
export interface WorkflowOptions<In, Parsed> {
  /** @default '1.0.0' */
  version?: string
  /** Checks and parses the input when the workflow is started, never again. */
  input?: Schema<In, Parsed>
}

/** A name and its types without code: for thin clients, for code in another service, for injected services. */
export interface Contract<In, Out, Context, Definition> {
  /** The same definition with its code. */
  implement(run: (input: In, ctx: Context) => Promise<Out>): Definition
}

/** A workflow with what the engine needs of it. */
export interface WorkflowDefinition extends Workflow<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly run: ((input: never, ctx: WorkflowContext) => Promise<unknown>) | undefined
}

/** An activity with what the engine needs of it. */
export interface ActivityDefinition extends Activity<never, unknown> {
  readonly input: Schema<never, unknown> | undefined
  readonly options: ResolvedActivityOptions
  readonly run: ((input: never, ctx: ActivityContext) => unknown) | undefined
}

/** `ActivityOptions`, checked and complete. */
export interface ResolvedActivityOptions {
  readonly retry: ResolvedRetry
  readonly timeoutMs: number | undefined
}

/** Defines a workflow: the name alone is a contract; with code it can be registered and run. */
export function workflow<In, Out>(
  name: string,
): Workflow<In, Out> & Contract<In, Out, WorkflowContext<In>, Workflow<In, Out>>
export function workflow<In, Out>(
  name: string,
  run: (input: In, ctx: WorkflowContext<In>) => Promise<Out>,
): Workflow<In, Out>
export function workflow<Out, Parsed, In = Parsed>(
  name: string,
  options: WorkflowOptions<In, Parsed>,
  run: (input: Parsed, ctx: WorkflowContext<In>) => Promise<Out>,
): Workflow<In, Out>
export function workflow(name: string, ...rest: unknown[]): unknown {
  const owner = `workflow ${checkName('workflow', name)}`
  const [given, run] = rest.length >= 2 ? rest : [undefined, rest[0]]
  const options = resolveOptions(owner, given as object | undefined, {
    version: option(checkVersion, '1.0.0'),
    input: option(checkSchema, undefined),
  })
  const make = (code: unknown): WorkflowDefinition => ({
    kind: 'workflow',
    name,
    version: options.version,
    input: options.input as Schema<never, unknown> | undefined,
    run: checkCode(owner, code) as WorkflowDefinition['run'],
  })
  return rest.length === 0 ? { ...make(undefined), implement: make } : make(run)
}

/** Defines an activity: the name alone is a contract; with code it can be registered and run. */
export function activity<In, Out>(
  name: string,
): Activity<In, Out> & Contract<In, Out, ActivityContext, Activity<In, Out>>
export function activity<In, Out>(
  name: string,
  run: (input: In, ctx: ActivityContext) => Out | Promise<Out>,
): Activity<In, Out>
export function activity<Out, Parsed, In = Parsed>(
  name: string,
  options: ActivityOptions & { input?: Schema<In, Parsed> },
  run: (input: Parsed, ctx: ActivityContext) => Out | Promise<Out>,
): Activity<In, Out>
export function activity(name: string, ...rest: unknown[]): unknown {
  const owner = `activity ${checkName('activity', name)}`
  const [given, run] = rest.length >= 2 ? rest : [undefined, rest[0]]
  const { input, ...options } = resolveOptions(owner, given as object | undefined, {
    ...ACTIVITY_OPTIONS,
    input: option(checkSchema, undefined),
  })
  const make = (code: unknown): ActivityDefinition => ({
    kind: 'activity',
    name,
    input: input as Schema<never, unknown> | undefined,
    options: { retry: options.retry, timeoutMs: options.timeout },
    run: checkCode(owner, code) as ActivityDefinition['run'],
  })
  return rest.length === 0 ? { ...make(undefined), implement: make } : make(run)
}

const ACTIVITY_OPTIONS = {
  retry: option((value, what) => resolveRetry(what, value as Retry), resolveRetry('activity')),
  timeout: duration(undefined, { min: 1 }),
}

/** What was given at a call, over what the definition says. */
export function mergeActivityOptions(
  owner: string,
  defined: ResolvedActivityOptions | undefined,
  given: ActivityOptions | undefined,
): ResolvedActivityOptions {
  if (given === undefined && defined !== undefined) return defined
  const { retry, timeout } = resolveOptions(owner, given, ACTIVITY_OPTIONS)
  return {
    retry: given?.retry === undefined ? (defined?.retry ?? retry) : retry,
    timeoutMs: timeout ?? defined?.timeoutMs,
  }
}

// Control characters, and halves of pairs, which no database keeps.
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNFIT = /[\x00-\x1f\p{Surrogate}]/u

/** Names end up in history between separators, in logs and in messages. */
export function checkName(kind: string, name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= 200 && !UNFIT.test(name)) {
    return `"${name}"`
  }
  throw new TypeError(
    `${kind}: name must be text of 1 to 200 characters without control characters, got ${describe(name)}`,
  )
}

// Numbers without leading zeros and an optional pre-release, as in semantic versioning.
const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$/

function checkVersion(value: unknown, what: string): string {
  if (typeof value === 'string' && VERSION.test(value)) return value
  throw new TypeError(`${what} must be a semantic version such as '1.2.0', got ${describe(value)}`)
}

function checkCode(owner: string, code: unknown): unknown {
  if (code === undefined || typeof code === 'function') return code
  throw new TypeError(`${owner}: its code must be a function, got ${describe(code)}`)
}
