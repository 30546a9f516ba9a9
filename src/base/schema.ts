import { describe } from './describe.ts'

/** A Standard Schema, such as one of Zod, Valibot or ArkType. Callers pass `In`, code receives `Out`. */
export interface Schema<In, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
    readonly types?: { readonly input: In; readonly output: Out } | undefined
  }
}

/** What `validate` of a Standard Schema returns. */
type Answer =
  | { readonly value: unknown; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Throws a `TypeError` for anything but a schema; `what` begins the error message. */
export function checkSchema(value: unknown, what: string): Schema<unknown> {
  const standard = (value as { '~standard'?: { validate?: unknown } } | null)?.['~standard']
  if (typeof standard?.validate === 'function') return value as Schema<unknown>
  throw new TypeError(`${what} must be a Standard Schema, got ${describe(value)}`)
}

/** Returns the parsed value. Throws a `TypeError` that lists each invalid path. */
export async function parse(
  schema: Schema<never, unknown> | undefined,
  value: unknown,
  what: string,
): Promise<unknown> {
  return schema === undefined ? value : parsedValue(await schema['~standard'].validate(value), what)
}

/** The parsed value in the result of `validate`. Throws the same `TypeError` as `parse`. */
export function parsedValue(validated: unknown, what: string): unknown {
  const answer = validated as Answer
  if (answer.issues === undefined) return answer.value
  const list = answer.issues.map((issue) => `${pathOf(issue)}: ${issue.message}`).join('; ')
  throw new TypeError(`${what} is not valid: ${list}`)
}

function pathOf(issue: Issue): string {
  const steps = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
  return ['$', ...steps.map(String)].join('.')
}
