import { parsedValue, type Schema } from '../../base/schema.ts'
import { outsideExecution } from './unhandled-rejections.ts'

/** Parses without waiting, as workflow code does; throws a `TypeError` when the schema is asynchronous. */
export function parseNow(schema: Schema<never, unknown>, value: unknown, what: string): unknown {
  const answer = outsideExecution(() => schema['~standard'].validate(value))
  if (answer instanceof Promise) {
    void answer.catch(() => {})
    throw new TypeError(`${what} cannot be checked: its schema is asynchronous`)
  }
  return parsedValue(answer, what)
}
