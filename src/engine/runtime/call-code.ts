import { callCode, type ContextHost } from '../context/make-context.ts'
import type { WorkflowContext } from '../context/workflow-context.ts'
import { parseNow } from '../schema.ts'
import { insideExecution } from './strays.ts'
import type { Begin } from './take-turn.ts'

/** Calls the code of copies, with their input and a context. */
export function codeCaller(context: ContextHost): Begin {
  return (copy) => {
    const { definition, run } = copy
    const { output } = definition
    const input = context.values.value(copy.input)
    const code = (ctx: WorkflowContext): Promise<unknown> => definition.run!(input as never, ctx)
    const checked = async (ctx: WorkflowContext): Promise<unknown> => {
      const value = await code(ctx)
      if (output !== undefined) parseNow(output, value, `workflow "${definition.name}": its result`)
      return value
    }
    const called = output === undefined ? code : checked
    return () => insideExecution(run, () => callCode(copy, context, called))
  }
}
