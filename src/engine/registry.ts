import { describe } from '../base/describe.ts'
import type { WorkflowName } from '../store/workflow-store.ts'
import type {
  ActivityDefinition,
  AnyActivity,
  AnyWorkflow,
  WorkflowDefinition,
} from './definitions.ts'

/** Definitions, lists, or whole modules (`import * as orders`). */
export type Registrable =
  AnyWorkflow | AnyActivity | readonly Registrable[] | { readonly [name: string]: unknown }

/** The code a runtime can run. */
export interface Registry {
  readonly workflows: readonly WorkflowDefinition[]
  workflow(name: WorkflowName): WorkflowDefinition | undefined
  activity(name: string): ActivityDefinition | undefined
}

/** Collects definitions. Two different ones under one name are refused. */
export function registryOf(registrable: Registrable): Registry {
  const workflows = new Map<string, WorkflowDefinition>()
  const activities = new Map<string, ActivityDefinition>()
  for (const found of definitionsIn(registrable)) {
    if (found.kind === 'workflow') put(workflows, keyOf(found), found)
    else put(activities, found.name, found)
  }
  if (workflows.size === 0 && activities.size === 0) {
    throw new TypeError('open: register holds no workflow and no activity with code')
  }
  return {
    workflows: [...workflows.values()],
    workflow: (name) => workflows.get(keyOf(name)),
    activity: (name) => activities.get(name),
  }
}

function keyOf({ name, version }: WorkflowName): string {
  return `${name} ${version}`
}

function put<D extends { readonly kind: string; readonly run: unknown }>(
  into: Map<string, D>,
  key: string,
  definition: D,
): void {
  const known = into.get(key)
  // A contract beside its implementation is the ordinary case.
  if (definition.run === undefined) return
  if (known !== undefined && known !== definition) {
    throw new TypeError(`open: two different definitions of ${definition.kind} "${key}"`)
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
