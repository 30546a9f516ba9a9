import { inspect, types } from 'node:util'

import {
  type Brand,
  brandOf,
  BUILT_IN,
  FAILURE,
  failureClasses,
  hide,
  isRetryable,
  OWN,
  ownClasses,
} from '../errors.ts'
import { shorten } from '../shorten.ts'

// How an error is taken apart into data and put together again.
//
//   - Taking apart never throws and its result is bounded: an error must always be recordable.
//   - Whether a failure may be retried travels in the data, so that a process that never defined
//     the failure, or defines it differently now, decides as it was decided when it was thrown.
//
// How values inside an error are written is given by the caller: values hold errors and errors
// hold values, and modules must not import each other in a circle.

/** An error as plain JSON; values inside it are in the tagged form of `pack.ts`. */
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
  /** The errors inside an `AggregateError`, or an error like one. */
  readonly errors?: unknown
  /** Of a class of our own, which has `name`. */
  readonly fields?: Readonly<Record<string, unknown>>
}

/** Longest message that is kept, in UTF-16 units. */
export const MAX_MESSAGE = 64 * 1024
/** Longest stack that is kept, in UTF-16 units. */
export const MAX_STACK = 16 * 1024
/** The same for an error inside another: a hundred of them fit into `MAX_MEMBER`. */
export const MAX_NESTED = 4 * 1024
/** Longest `details`, `cause` or `errors` that is kept, as JSON, in UTF-16 units. */
export const MAX_MEMBER = 1024 * 1024
const MAX_NAME = 1024

/** Whether this is an error of any realm, or made to look like one. */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error
}

/**
 * The data of an error, or of any object that was thrown like one.
 *
 * `pack` writes the member with this name, and describes what it cannot write; `undefined` means
 * that there is none. An error inside another is kept shorter.
 */
export function takeApart(
  error: object,
  pack: (key: string) => unknown,
  isNested = false,
): ErrorData {
  const name = text(error, 'name') ?? 'Error'
  const message = text(error, 'message') ?? ''
  const data: { -readonly [K in keyof ErrorData]: ErrorData[K] } = {
    name: shorten(name, MAX_NAME),
    message: shorten(message, isNested ? MAX_NESTED : MAX_MESSAGE),
  }

  const code = read(error, 'code')
  if (typeof code === 'string') data.code = shorten(code, MAX_NAME)
  if (typeof code === 'number' && Number.isFinite(code)) data.code = code

  const stack = text(error, 'stack') ?? ''
  if (stack !== '' && stack !== firstLine(name, message)) {
    data.stack = shortenStack(stack, isNested ? MAX_NESTED : MAX_STACK)
  }

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

  const own = ownClasses.get(name)
  if (own !== undefined && read(error, OWN) === name) {
    const fields = own.fields.map((field) => [field, pack(field)] as const)
    data.fields = Object.fromEntries(fields.filter(([, value]) => value !== undefined))
  }
  return data
}

/** The data of what is not an error. `value` is it as `pack` wrote it, and becomes the cause. */
export function takeThrownApart(thrown: unknown, value: unknown): ErrorData {
  if (typeof thrown === 'string') return { name: 'Error', message: shorten(thrown, MAX_MESSAGE) }
  const isLikeError = isObject(thrown) && text(thrown, 'message') !== undefined
  const data = isLikeError
    ? takeApart(thrown, () => undefined)
    : { name: 'Error', message: shorten(`${show(thrown)} was thrown`, MAX_MESSAGE) }
  return thrown === undefined ? data : { ...data, cause: value }
}

/**
 * The error that this data was taken from: of its own class if that is defined here, else an
 * `Error` with its name. Its stack is that of where it was thrown. `unpack` reads a value.
 */
export function putTogether(given: unknown, unpack: (value: unknown) => unknown): Error {
  const data = (isObject(given) ? given : {}) as { readonly [K in keyof ErrorData]?: unknown }
  const name = typeof data.name === 'string' ? data.name : 'Error'
  const message = typeof data.message === 'string' ? data.message : ''
  const wasFailure = data.failure === true
  const own = isObject(data.fields) ? ownClasses.get(name) : undefined
  const known = wasFailure ? failureClasses.get(name) : (own?.errorClass ?? BUILT_IN.get(name))

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

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A property of an object that may do anything when it is read. */
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
  // Node marks promises for its own purposes, and would show its marks.
  if (types.isPromise(value)) return 'a Promise'
  try {
    return inspect(value, { depth: 2, breakLength: Infinity })
  } catch {
    return 'something unreadable'
  }
}

function firstLine(name: string, message: string): string {
  return message === '' ? name : `${name}: ${message}`
}

/** Cuts a long message at the head of a stack first: the frames are what a stack is for. */
function shortenStack(stack: string, max: number): string {
  if (stack.length <= max) return stack
  const frames = Math.max(stack.indexOf('\n    at '), 0)
  return shorten(shorten(stack.slice(0, frames), max / 4) + stack.slice(frames), max)
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
