/**
 * What every log line about an instance begins with: the lines of the engine, and those that code
 * writes with `ctx.log`. Activities add `activity` and `attempt`; an error is always `err`, the key
 * that pino and others know how to write.
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
