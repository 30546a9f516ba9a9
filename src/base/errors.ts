import { inspect, types } from 'node:util'

import { describe } from './describe.ts'

// The error classes that cross the database as themselves, and how an error is taken apart into
// data and put together again.
//
//   E1. Taking apart never throws and its result is bounded: an error must always be recordable.
//   E2. What an error is, is read from a brand on it, not from its prototype: two copies of this
//       module (ESM and CJS, hot reload) recognise each other's errors.
//   E3. Whether a failure may be retried travels in the data, so that a process that never defined
//       the failure, or defines it differently now, decides as it was decided when it was thrown.
//
// How values inside an error are written is given by the caller: values hold errors and errors
// hold values, and modules must not import each other in a circle.

type ErrorClass = abstract new (...args: never) => Error
interface Brand {
  readonly name: string
  readonly retryable: boolean
}

const FAILURE = Symbol.for('holdfast.failure')
const OWN = Symbol.for('holdfast.error')
const BUILT_IN = new Map<string, ErrorClass>(
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
const failures = new Map<string, ErrorClass>()
const classes = new Map<string, { errorClass: ErrorClass; fields: readonly string[] }>()

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

/** Work that was called off; `reason` is what the one who cancelled said. */
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
 * The class is known by its name: defining the name again (a reloaded module) gives a class whose
 * `instanceof` also knows the errors of the first. It cannot be extended, since what a subclass
 * adds would be lost on the way; put data into `details`. With `retryable: false` an activity
 * that throws it is not tried again.
 */
export function failure<Details = undefined>(
  name: string,
  options: { retryable?: boolean } = {},
): FailureClass<Details> {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`failure: name must be a string that is not empty, got ${describe(name)}`)
  }
  if (BUILT_IN.has(name) || classes.has(name)) {
    throw new TypeError(`failure: name must not be that of an existing class, got "${name}"`)
  }
  const brand: Brand = { name, retryable: options.retryable ?? true }

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
  failures.set(name, DefinedFailure)
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
  classes.set(name, { errorClass, fields })
}

/** An error as plain JSON; values inside it are in the tagged form of `codec.ts`. */
export interface ErrorData {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  /** Left out when it would only repeat name and message. */
  readonly stack?: string
  /** Made by a class that `failure` returned, which has `name`. */
  readonly failure?: true
  readonly retryable?: false
  readonly details?: unknown
  readonly cause?: unknown
  /** What an `AggregateError`, or an error like one, holds. */
  readonly errors?: unknown
  /** Of a class of our own, which has `name`. */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** Longest message that is kept, in UTF-16 units. */
export const MAX_MESSAGE = 64 * 1024
/** Longest stack that is kept, in UTF-16 units. */
export const MAX_STACK = 16 * 1024
const MAX_NAME = 1024

/** Whether this is an error of any realm, or made to look like one. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error
}

/**
 * The data of an error, or of any object that was thrown like one.
 *
 * `pack` writes the member with this name, and describes what it cannot write; `undefined` means
 * that there is none.
 */
export function takeApart(error: object, pack: (key: string) => unknown): ErrorData {
  const name = text(error, 'name') ?? 'Error'
  const message = text(error, 'message') ?? ''
  const data: { -readonly [K in keyof ErrorData]: ErrorData[K] } = {
    name: bounded(name, MAX_NAME),
    message: bounded(message, MAX_MESSAGE),
  }

  const code = read(error, 'code')
  if (typeof code === 'string') data.code = bounded(code, MAX_NAME)
  if (typeof code === 'number' && Number.isFinite(code)) data.code = code

  const stack = text(error, 'stack') ?? ''
  if (stack !== '' && stack !== firstLine(name, message)) data.stack = boundedStack(stack)

  const brand = brandOf(error)
  if (brand !== undefined) {
    data.name = brand.name
    data.failure = true
    if (!brand.retryable) data.retryable = false
    set(data, 'details', pack('details'))
  }
  set(data, 'cause', pack('cause'))
  const errors = Array.isArray(read(error, 'errors')) ? pack('errors') : undefined
  if (Array.isArray(errors)) data.errors = errors

  const own = classes.get(name)
  if (own !== undefined && read(error, OWN) === name) {
    const fields = own.fields.map((field) => [field, pack(field)] as const)
    data.fields = Object.fromEntries(fields.filter(([, value]) => value !== undefined))
  }
  return data
}

/** The data of what is not an error. `value` is it as `pack` wrote it, and becomes the cause. */
export function takeThrownApart(thrown: unknown, value: unknown): ErrorData {
  if (typeof thrown === 'string') return { name: 'Error', message: bounded(thrown, MAX_MESSAGE) }
  const isLikeError = isObject(thrown) && text(thrown, 'message') !== undefined
  const data = isLikeError
    ? takeApart(thrown, () => undefined)
    : { name: 'Error', message: bounded(`${show(thrown)} was thrown`, MAX_MESSAGE) }
  return thrown === undefined ? data : { ...data, cause: value }
}

/**
 * The error this data was taken from: of its own class where that is known here, else an `Error`
 * with its name. Its stack is that of where it was thrown. `unpack` reads a value.
 */
export function putTogether(given: unknown, unpack: (value: unknown) => unknown): Error {
  const data = (isObject(given) ? given : {}) as { readonly [K in keyof ErrorData]?: unknown }
  const name = typeof data.name === 'string' ? data.name : 'Error'
  const message = typeof data.message === 'string' ? data.message : ''
  const wasFailure = data.failure === true
  const own = isObject(data.fields) ? classes.get(name) : undefined
  const known = wasFailure ? failures.get(name) : (own?.errorClass ?? BUILT_IN.get(name))

  // A native error with the prototype of the class, whose constructor may ask for anything.
  const error = Reflect.construct(Error, [message], known ?? Error) as Error
  if (error.name !== name) hide(error, 'name', name)
  const stack = typeof data.stack === 'string' ? data.stack : firstLine(name, message)
  hide(error, 'stack', stack)
  const { code } = data
  if (typeof code === 'string' || typeof code === 'number') assign(error, 'code', code)
  if (data.cause !== undefined) hide(error, 'cause', unpack(data.cause))
  if (data.errors !== undefined) hide(error, 'errors', unpack(data.errors))
  if (wasFailure) {
    if (data.details !== undefined) assign(error, 'details', unpack(data.details))
    const retryable = data.retryable !== false
    if (isRetryable(error) !== retryable || known === undefined) {
      hide(error, FAILURE, { name, retryable } satisfies Brand)
    }
  }
  for (const field of own?.fields ?? []) {
    const value = (data.fields as Record<string, unknown>)[field]
    if (value !== undefined) assign(error, field, unpack(value))
  }
  return error
}

function brandOf(value: unknown): Brand | undefined {
  const brand = isObject(value) ? read(value, FAILURE) : undefined
  return isObject(brand) && text(brand, 'name') !== undefined ? (brand as Brand) : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A property of something that may do anything when asked. */
function read(from: object, key: PropertyKey): unknown {
  try {
    return (from as Record<PropertyKey, unknown>)[key]
  } catch {
    return undefined
  }
}

function text(from: object, key: string): string | undefined {
  const value = read(from, key)
  return typeof value === 'string' ? value : undefined
}

function show(value: unknown): string {
  try {
    return inspect(value, { depth: 2, breakLength: Infinity })
  } catch {
    return 'something unreadable'
  }
}

function firstLine(name: string, message: string): string {
  return message === '' ? name : `${name}: ${message}`
}

/** Cuts what is too long. Never longer than `max`, so that cutting again changes nothing. */
function bounded(value: string, max: number): string {
  if (value.length <= max) return value
  const kept = max - 40
  return `${value.slice(0, kept)}… (${value.length - kept} more characters)`
}

/** Cuts a long message at the head of a stack first: the frames are what a stack is for. */
function boundedStack(stack: string): string {
  if (stack.length <= MAX_STACK) return stack
  const frames = Math.max(stack.indexOf('\n    at '), 0)
  return bounded(bounded(stack.slice(0, frames), MAX_STACK / 4) + stack.slice(frames), MAX_STACK)
}

function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, configurable: true })
}

function assign(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

function set<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined) {
  if (value !== undefined) target[key] = value
}
