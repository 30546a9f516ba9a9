import { describe } from '../../base/describe.ts'
import { number, oneOf, option } from '../../base/options.ts'
import { isPlainObject } from '../../base/plain-object.ts'
import { duration } from '../../base/time/duration.ts'
import { channelOf, type Letter } from './channels.ts'
import { checkId } from './names.ts'
import { checkVersion } from '../../base/versions.ts'

/** The most labels of one instance. Names and values have at most 500 characters each. */
const MAX_LABELS = 100

// A claim looks at each priority by itself: there must not be too many.
const MAX_PRIORITY = 1_000

/** The table of `StartOptions`, for `resolveOptions`. */
export const START_OPTIONS = {
  id: option(checkId, undefined),
  onConflict: oneOf(['return', 'error', 'restart'], 'return'),
  delay: duration(0),
  version: option(checkVersion, undefined),
  labels: option(checkLabels, '{}'),
  priority: number({ min: -MAX_PRIORITY, max: MAX_PRIORITY, integer: true }, 0),
  send: option(checkLetter, undefined),
}

/** `StartOptions`, validated and complete. */
export interface ResolvedStart {
  readonly id: string | undefined
  readonly onConflict: 'return' | 'error' | 'restart'
  /** In milliseconds. */
  readonly delay: number
  readonly version: string | undefined
  /** As stored: a JSON object with string values. */
  readonly labels: string
  readonly priority: number
  readonly send: Letter | undefined
}

/** Validates labels and returns them as stored; `what` begins the error message. */
export function checkLabels(value: unknown, what: string): string {
  // Of a Map or an instance of a class nothing, or too much, would be kept.
  if (!isPlainObject(value)) {
    throw new TypeError(`${what} must be an object with string values, got ${describe(value)}`)
  }
  const labels = Object.entries(value)
  if (labels.length > MAX_LABELS) {
    throw new RangeError(`${what} must have at most ${MAX_LABELS} entries, got ${labels.length}`)
  }
  for (const [name, label] of labels) {
    checkId(name, `${what}: name`)
    checkId(label, `${what}.${name}`)
  }
  return JSON.stringify(value)
}

function checkLetter(value: unknown, what: string): Letter {
  channelOf(what, value)
  return value as Letter
}
