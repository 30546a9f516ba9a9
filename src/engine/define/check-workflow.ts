import { describe } from '../../base/describe.ts'
import type { WorkflowDefinition } from './definitions.ts'

/** A workflow as the engine sees it. Throws a `TypeError` for anything else; `what` begins the message. */
export function checkWorkflow(what: string, value: unknown): WorkflowDefinition {
  const { kind, name } = (value ?? {}) as { kind?: unknown; name?: unknown }
  if (kind === 'workflow') return value as WorkflowDefinition
  const got = typeof kind === 'string' ? `${kind} "${String(name)}"` : describe(value)
  throw new TypeError(`${what}: needs a workflow, got ${got}`)
}
