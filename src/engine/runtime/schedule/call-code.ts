import { callCode, type ContextHost } from '../../context/make-context.ts'
import type { WorkflowDefinition } from '../../define/definitions.ts'
import type { WorkflowContext } from '../../define/workflow-context.ts'
import { parseNow } from '../../core/parse-now.ts'
import { insideExecution } from '../../core/unhandled-rejections.ts'
import type { Begin } from '../../instance/turn.ts'

/** Calls the code of instances, with their input and a context. */
export function codeCaller(context: ContextHost): Begin {
  return (instance) => {
    const { definition, run } = instance
    const input = context.values.value(instance.input)
    const code = (ctx: WorkflowContext): Promise<unknown> => definition.run!(input as never, ctx)
    const called = definition.output === undefined ? code : checked(code, definition)
    return () => insideExecution(run, () => callCode(instance, context, called))
  }
}

/** Code whose result has to match the schema of its workflow. */
function checked(
  code: (ctx: WorkflowContext) => Promise<unknown>,
  { name, output }: WorkflowDefinition,
): (ctx: WorkflowContext) => Promise<unknown> {
  return async (ctx) => {
    const value = await code(ctx)
    parseNow(output!, value, `workflow "${name}": its result`)
    return value
  }
}
