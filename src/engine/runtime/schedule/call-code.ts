import { callCode, type ContextHost } from '../../context/make-context.ts'
import type { WorkflowContext } from '../../define/workflow-context.ts'
import { parseNow } from '../../core/parse-now.ts'
import { insideExecution } from '../../core/unhandled-rejections.ts'
import type { Begin } from '../../instance/turn.ts'

/** Calls the code of instances, with their input and a context. */
export function codeCaller(context: ContextHost): Begin {
  return (instance) => {
    const { definition, run } = instance
    const { output } = definition
    const input = context.values.value(instance.input)
    const code = (ctx: WorkflowContext): Promise<unknown> => definition.run!(input as never, ctx)
    const checked = async (ctx: WorkflowContext): Promise<unknown> => {
      const value = await code(ctx)
      if (output !== undefined) parseNow(output, value, `workflow "${definition.name}": its result`)
      return value
    }
    const called = output === undefined ? code : checked
    return () => insideExecution(run, () => callCode(instance, context, called))
  }
}
