import { errorToData } from '../../base/codec/error-data.ts'
import { isError } from '../../base/codec/error-parts.ts'

/** What was thrown, as an error: log lines have one under `err`, whatever code throws. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown
  return new Error(errorToData(thrown).message, { cause: thrown })
}
