import { describe } from '../../base/describe.ts'
import { outsideExecution } from '../core/unhandled-rejections.ts'

/** Any Standard Schema (Zod, Valibot, ArkType): callers pass `In`, code receives `Out`. */
export interface Schema<In, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  }
}

/** What a Standard Schema's `validate` answers. */
type Answer =
  { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Refuses what is not a schema; `what` begins the error message. */
export function checkSchema(value: unknown, what: string): Schema<unknown> {
  const standard = (value as { '~standard'?: { validate?: unknown } } | null)?.['~standard']
  if (typeof standard?.validate === 'function') return value as Schema<unknown>
  throw new TypeError(`${what} must be a Standard Schema, got ${describe(value)}`)
}

/** Returns the parsed value; throws a `TypeError` that names each path that is wrong. */
export async function parse(
  schema: Schema<never, unknown> | undefined,
  value: unknown,
  what: string,
): Promise<unknown> {
  return schema === undefined
    ? value
    : parsed((await schema['~standard'].validate(value)) as Answer, what)
}

/** The same, at once: where the code of a workflow runs nothing can be waited for. */
export function parseNow(schema: Schema<never, unknown>, value: unknown, what: string): unknown {
  const answer = outsideExecution(() => schema['~standard'].validate(value))
  if (answer instanceof Promise) {
    void answer.catch(() => {})
    throw new TypeError(`${what} cannot be checked: its schema is asynchronous`)
  }
  return parsed(answer as Answer, what)
}

function parsed(answer: Answer, what: string): unknown {
  if (answer.issues === undefined) return answer.value
  const list = answer.issues.map((issue) => `${pathOf(issue)}: ${issue.message}`).join('; ')
  throw new TypeError(`${what} is not valid: ${list}`)
}

function pathOf(issue: Issue): string {
  const steps = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
  return ['$', ...steps.map(String)].join('.')
}
