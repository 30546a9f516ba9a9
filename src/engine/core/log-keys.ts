import type { InstanceRow } from '../../store/instances.ts'

/**
 * The keys of every log line about an instance, both of the engine's lines and of those that code writes
 * with `ctx.log`. Lines of activities also have `activity` and `attempt`. Errors are under `err`, the
 * key that pino and others serialise.
 */
export interface InstanceKeys {
  readonly instanceId: string
  readonly workflow: string
  readonly execution: number
}

/** The keys of an instance in memory. */
export function instanceKeys(instance: {
  readonly id: string
  readonly definition: { readonly name: string }
  readonly execution: number
}): InstanceKeys {
  const { id, definition, execution } = instance
  return { instanceId: id, workflow: definition.name, execution }
}

/** The keys of an instance as the store has it. */
export function rowKeys({ id, workflow, execution }: InstanceRow): InstanceKeys {
  return { instanceId: id, workflow: workflow.name, execution }
}
