import { errorToData } from '../../base/codec/error-data.ts'
import { isError } from '../../base/codec/error-parts.ts'

/** Converts anything thrown to an `Error`, so that `err` in log lines is always one. */
export function toError(thrown: unknown): Error {
  if (isError(thrown)) return thrown
  return new Error(errorToData(thrown).message, { cause: thrown })
}
