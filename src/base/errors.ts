import { describe } from './describe.ts'
import { flag, resolveOptions } from './options.ts'

// The error classes that cross the database as themselves. How an error of theirs, or any other, is
// taken apart and put together again is in `error-parts.ts`.
//
//   - What an error is, is read from a brand on it, not from its prototype: two copies of this
//     module (ESM and CJS, hot reload) recognise each other's errors.
//   - No failure has the name of a class of ours, whichever of the two is loaded first.

type ErrorClass = abstract new (...args: never) => Error

/** What a failure carries, so that it can be judged even if its class is not defined here. */
export interface Brand {
  readonly name: string
  readonly retryable: boolean
}

/** The key of a failure's brand. */
export const FAILURE = Symbol.for('holdfast.failure')
/** The key of the name that a class of our own is registered by. */
export const OWN = Symbol.for('holdfast.error')

// The classes by name, of each kind. Only this module writes to them.
export const BUILT_IN = new Map<string, ErrorClass>(
  [
    Error,
    TypeError,
    RangeError,
    SyntaxError,
    ReferenceError,
    EvalError,
    URIError,
    AggregateError,
  ].map((errorClass) => [errorClass.name, errorClass]),
)
export const failureClasses = new Map<string, ErrorClass>()
export const ownClasses = new Map<string, { errorClass: ErrorClass; fields: readonly string[] }>()

/** Classes of ours that register themselves when their module is loaded, maybe after us. */
const REGISTERED_ELSEWHERE = new Set([
  'ActivityError',
  'ChannelFullError',
  'ConflictError',
  'NondeterminismError',
  'NotFoundError',
  'PoisonError',
  'WorkflowError',
])

/** Work that was not done in time; `afterMs` is the time it had. */
export class TimeoutError extends Error {
  static {
    registerErrorClass('TimeoutError', TimeoutError, ['afterMs'])
  }

  readonly afterMs: number

  constructor(message: string, afterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.afterMs = afterMs
  }
}

/** Work that was cancelled; `reason` is what the caller of `cancel` gave. */
export class CancelledError extends Error {
  static {
    registerErrorClass('CancelledError', CancelledError, ['reason'])
  }

  readonly reason: string

  constructor(reason: string, options?: ErrorOptions) {
    super(reason === '' ? 'cancelled' : `cancelled: ${reason}`, options)
    this.reason = reason
  }
}

/** An error of a class made by `failure`. */
export interface Failure<Details> extends Error {
  readonly details: Details
}

/** The class `failure` returns: `details` is asked for exactly when the failure has them. */
export interface FailureClass<Details> {
  new (
    message: string,
    ...details: [Details] extends [undefined] ? [] : [details: Details]
  ): Failure<Details>
}

/**
 * Defines an error that crosses the database as itself: message, details and class.
 *
 * The name identifies the class: defining the name again (a reloaded module) gives a class whose
 * `instanceof` also accepts the errors of the first. It cannot be extended, since what a subclass
 * adds would be lost on the way; put data into `details`. With `retryable: false` an activity that
 * throws it is not retried.
 */
export function failure<Details = undefined>(
  name: string,
  options: { retryable?: boolean } = {},
): FailureClass<Details> {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`failure: name must be a non-empty string, got ${describe(name)}`)
  }
  if (BUILT_IN.has(name) || ownClasses.has(name) || REGISTERED_ELSEWHERE.has(name)) {
    throw new TypeError(`failure: name must not be that of an existing class, got "${name}"`)
  }
  const brand: Brand = {
    name,
    ...resolveOptions(`failure "${name}"`, options, { retryable: flag(true) }),
  }

  class DefinedFailure extends Error {
    static override [Symbol.hasInstance](value: unknown): boolean {
      return brandOf(value)?.name === name
    }

    declare readonly details: Details

    constructor(message: string, details?: Details) {
      super(message)
      if (new.target !== DefinedFailure) {
        throw new TypeError(
          `failure: "${name}" cannot be extended by ${new.target.name || 'a class'}; ` +
            'define another failure and put data into its details',
        )
      }
      if (details !== undefined) this.details = details
    }
  }
  hide(DefinedFailure, 'name', name)
  // On the prototype, and not as a field, so that the first line of the stack has it too.
  hide(DefinedFailure.prototype, 'name', name)
  hide(DefinedFailure.prototype, FAILURE, brand)
  failureClasses.set(name, DefinedFailure)
  return DefinedFailure
}

/** Whether trying again may help: false only for a failure declared `retryable: false`. */
export function isRetryable(error: unknown): boolean {
  return brandOf(error)?.retryable !== false
}

/** Whether it was made by a class from `failure()`, of this or of another copy of this module. */
export function isFailure(error: unknown): error is Failure<unknown> {
  return brandOf(error) !== undefined
}

/** The brand of a failure, if it is one. */
export function brandOf(value: unknown): Brand | undefined {
  try {
    if (typeof value !== 'object' || value === null) return undefined
    const brand = (value as { [FAILURE]?: Partial<Brand> })[FAILURE]
    return typeof brand?.name === 'string' ? (brand as Brand) : undefined
  } catch {
    return undefined // It may do anything when asked.
  }
}

/**
 * Makes a class of our own come back as itself, with these fields.
 *
 * It comes back without its constructor being run, so a class with private members cannot be
 * registered. Names the class: `name` need not be a field of it.
 */
export function registerErrorClass(
  name: string,
  errorClass: ErrorClass,
  fields: readonly string[],
): void {
  hide(errorClass.prototype, 'name', name)
  hide(errorClass.prototype, OWN, name)
  ownClasses.set(name, { errorClass, fields })
}

/** Defines a property that is not shown when the object is printed. */
export function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true })
}
