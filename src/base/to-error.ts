import { errorToData } from './error-data.ts'
import { isError } from './error-parts.ts'

/** What was thrown, as an error: log lines have one under `err`, whatever code throws. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown
  return new Error(errorToData(thrown).message, { cause: thrown })
}
