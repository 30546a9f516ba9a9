import { describe } from '../../base/describe.ts'
import type { WorkflowName } from '../../store/instances.ts'
import type {
  ActivityDefinition,
  AnyActivity,
  AnyWorkflow,
  WorkflowDefinition,
} from './definitions.ts'
import { latestOf } from '../../base/versions.ts'

/** What can be registered: a definition, a list, or a module that exports definitions. */
export type Registrable =
  AnyWorkflow | AnyActivity | readonly Registrable[] | { readonly [name: string]: unknown }

/** The code a runtime can run. */
export interface Registry {
  readonly workflows: readonly WorkflowDefinition[]
  /** The latest version of each workflow: what a start without a version means here. */
  readonly latestWorkflows: readonly WorkflowDefinition[]
  /** The code of exactly this version. */
  workflow(name: WorkflowName): WorkflowDefinition | undefined
  /** What to take when nobody asks for a version: a pre-release only where there is no release. */
  latest(name: string): WorkflowDefinition | undefined
  activity(name: string): ActivityDefinition | undefined
  /** Every activity whose code is here. */
  readonly activityNames: readonly string[]
  /** Registers an activity that a registered workflow calls; one that is known stays. */
  learn(activity: ActivityDefinition): void
}

/** Tells of definitions under one name that differ. */
export type Warn = (data: object, message: string) => void

/**
 * Collects definitions. Two different ones under one name and version are refused, as it would
 * depend on the order of imports which of them runs.
 *
 * With `warn`, the later one replaces the earlier, and `warn` is told. That is for development,
 * where a module that is loaded again defines the same things again.
 *
 * `onOther` is told, once for each name, that a workflow calls another definition of an activity
 * than the one that was registered: whoever registered it may believe that it is what runs.
 */
export function registryOf(
  registrable: Registrable,
  warn?: Warn,
  onOther: Warn = () => {},
): Registry {
  const workflows = new Map<string, WorkflowDefinition>()
  const activities = new Map<string, ActivityDefinition>()
  for (const found of definitionsIn(registrable)) {
    if (found.kind === 'workflow') put(workflows, keyOf(found), found, warn)
    else put(activities, found.name, found, warn)
  }
  if (workflows.size === 0 && activities.size === 0) {
    throw new TypeError('open: register holds no workflow and no activity with code')
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
        'a workflow calls another definition of this activity than the registered one, and runs what it calls; define it as a contract to choose its code where it is registered',
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
): void {
  const known = into.get(key)
  // A contract beside its implementation is the ordinary case.
  if (definition.run === undefined) return
  if (known !== undefined && known !== definition) {
    const problem = `two different definitions of ${definition.kind} "${key}"`
    if (warn === undefined) throw new TypeError(`open: ${problem}`)
    warn({ [definition.kind]: definition.name }, `open: ${problem}: the later one is used`)
  }
  into.set(key, definition)
}

function* definitionsIn(
  value: unknown,
  path = 'register',
): Generator<WorkflowDefinition | ActivityDefinition> {
  if (isDefinition(value)) {
    yield value
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* definitionsIn(item, `${path}[${i}]`)
  } else if (typeof value === 'object' && value !== null) {
    // A module: whatever else it exports is none of our business.
    yield* Object.values(value).filter(isDefinition)
  } else {
    throw new TypeError(
      `open: ${path} must be a workflow, an activity, a list or a module, got ${describe(value)}`,
    )
  }
}

function isDefinition(value: unknown): value is WorkflowDefinition | ActivityDefinition {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kind === 'workflow' || kind === 'activity'
}
