import { type ErrorData, putTogether } from './error-parts.ts'
import { Packer } from './pack.ts'
import { unpack } from './unpack.ts'

export type { ErrorData } from './error-parts.ts'

/**
 * What was thrown, as plain JSON: for history, where an error is data and not an object.
 *
 * Never throws, whatever was thrown: what cannot be written is described in its place, long texts
 * are cut, and of errors in errors the first hundred are kept, to a depth of sixteen. A cause, or
 * details, of more than a million characters is replaced by a note. Of other
 * properties than those in `ErrorData` nothing is kept. What is not an error becomes one, with the
 * thrown value as its cause.
 */
export function errorToData(thrown: unknown): ErrorData {
  return new Packer().packThrown(thrown)
}

/**
 * The error this data was taken from, with the stack of where it was thrown.
 *
 * It is of its own class if that is built in, ours, or a `failure` defined in this process; any
 * other comes back as an `Error` with its name. Throws a `SyntaxError` if a newer version wrote a
 * value in it that this one cannot read.
 */
export function errorFromData(data: ErrorData): Error {
  // A copy, because unpacking works in place and the caller may read the data twice.
  return putTogether(structuredClone(data), (value) => unpack(value, 1))
}
