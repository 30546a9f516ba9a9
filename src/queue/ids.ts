import { describe } from '../base/describe.ts'
import { list, number } from '../base/options.ts'

const id = number({ min: 0, integer: true }, 0).check

/** Checks a list of ids. */
export function checkIds(owner: string, ids: readonly number[]): readonly number[] {
  return list(id).check(ids, `${owner}: ids`)
}

/** Checks one id. */
export function checkId(owner: string, given: number): number {
  return id(given, `${owner}: id`)
}

/** Checks how many are wanted. */
export function checkCount(owner: string, given: number): number {
  if (Number.isSafeInteger(given) && given >= 1) return given
  throw new RangeError(`${owner}: max must be a whole number, 1 or more, got ${describe(given)}`)
}
