import { describe } from '../../base/describe.ts'
import type { WorkflowName } from '../../store/instances.ts'
import type {
  ActivityDefinition,
  AnyActivity,
  AnyWorkflow,
  WorkflowDefinition,
} from './definitions.ts'
import type { ActivityContext } from './activity-context.ts'
import { latestOf } from '../../base/versions.ts'

/** What `register` accepts: a definition, a list, or a module that exports definitions. */
export type Registrable =
  | AnyWorkflow
  | AnyActivity
  | readonly Registrable[]
  | { readonly [name: string]: unknown }

/** The workflows and activities that a runtime can run. */
export interface Registry {
  readonly workflows: readonly WorkflowDefinition[]
  /** The latest version of each workflow, which a start without a version runs. */
  readonly latestWorkflows: readonly WorkflowDefinition[]
  /** The code of exactly this version. */
  workflow(name: WorkflowName): WorkflowDefinition | undefined
  /** The latest version of a workflow; a pre-release only when there is no release. */
  latest(name: string): WorkflowDefinition | undefined
  activity(name: string): ActivityDefinition | undefined
  /** The names of all activities with code. */
  readonly activityNames: readonly string[]
  /** Registers an activity that a registered workflow calls, unless its name is already registered. */
  learn(activity: ActivityDefinition): void
  /** What runs instead of this activity, whatever code it has. Only tests replace activities. */
  replacement?(activity: ActivityDefinition): ActivityDefinition | undefined
  /** What runs instead of the code of a step. */
  stepReplacement?(name: string, code: StepCode): StepCode
}

/** The code of a step. */
export type StepCode = (ctx: ActivityContext) => unknown

/** Warns about different definitions with the same name. */
export type Warn = (data: object, message: string) => void

/**
 * Collects definitions. Throws when two different definitions have the same name and version, because
 * the order of imports would decide which of them runs.
 *
 * With `warn`, the later definition replaces the earlier one with a warning instead. That is for
 * development, where reloading a module defines the same things again.
 *
 * Calls `onOther` once for each activity of which a workflow calls another definition than the
 * registered one: the registered code does not run, which may surprise its author. Errors begin with
 * `owner`, the function that was given the definitions.
 */
export function registryOf(
  registrable: Registrable,
  warn?: Warn,
  onOther: Warn = () => {},
  owner = 'open',
): Registry {
  const workflows = new Map<string, WorkflowDefinition>()
  const activities = new Map<string, ActivityDefinition>()
  for (const found of definitionsIn(registrable, `${owner}: register`)) {
    if (found.kind === 'workflow') put(workflows, keyOf(found), found, warn, owner)
    else put(activities, found.name, found, warn, owner)
  }
  if (workflows.size === 0 && activities.size === 0) {
    throw new TypeError(`${owner}: register contains no workflow and no activity with code`)
  }
  const registered = new Map(activities)
  const all = [...workflows.values()]
  const names = new Set(all.map(({ name }) => name))
  const latest = new Map(
    [...names].map((name) => [name, latestOf(all.filter((one) => one.name === name))]),
  )
  return {
    workflows: all,
    latestWorkflows: [...latest.values()].filter((one) => one !== undefined),
    workflow: (name) => workflows.get(keyOf(name)),
    latest: (name) => latest.get(name),
    activity: (name) => activities.get(name),
    get activityNames() {
      return [...activities.keys()]
    },
    learn(activity) {
      const { name } = activity
      if (!activities.has(name)) activities.set(name, activity)
      const other = registered.get(name)
      if (other === undefined || other === activity) return
      registered.delete(name)
      onOther(
        { activity: name },
        'a workflow calls a different definition of this activity than the registered one, which does not run; define the activity as a contract to choose its code by registration',
      )
    },
  }
}

function keyOf({ name, version }: WorkflowName): string {
  return `${name} ${version}`
}

function put<D extends { readonly kind: string; readonly name: string; readonly run: unknown }>(
  into: Map<string, D>,
  key: string,
  definition: D,
  warn: Warn | undefined,
  owner: string,
): void {
  const known = into.get(key)
  // Registering a contract next to its implementation is normal.
  if (definition.run === undefined) return
  if (known !== undefined && known !== definition) {
    const problem = `two different definitions of ${definition.kind} "${key}"`
    if (warn === undefined) throw new TypeError(`${owner}: ${problem}`)
    warn({ [definition.kind]: definition.name }, `${owner}: ${problem}; using the later one`)
  }
  into.set(key, definition)
}

function* definitionsIn(
  value: unknown,
  path: string,
): Generator<WorkflowDefinition | ActivityDefinition> {
  if (isDefinition(value)) {
    yield value
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* definitionsIn(item, `${path}[${i}]`)
  } else if (typeof value === 'object' && value !== null) {
    // A module may export anything else as well.
    yield* Object.values(value).filter(isDefinition)
  } else {
    throw new TypeError(
      `${path} must be a workflow, an activity, a list or a module, got ${describe(value)}`,
    )
  }
}

function isDefinition(value: unknown): value is WorkflowDefinition | ActivityDefinition {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kind === 'workflow' || kind === 'activity'
}
