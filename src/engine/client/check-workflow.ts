import { describe } from '../../base/describe.ts'
import type { WorkflowDefinition } from '../define/definitions.ts'

/** The engine's view of a workflow; refuses whatever else was given to `what`. */
export function checkWorkflow(what: string, value: unknown): WorkflowDefinition {
  if ((value as { kind?: unknown } | undefined)?.kind === 'workflow') {
    return value as WorkflowDefinition
  }
  throw new TypeError(`${what}: needs a workflow, got ${describe(value)}`)
}
