import type { ErrorCode } from './api.ts'

const STATUS: Readonly<Record<ErrorCode, number>> = {
  bad_request: 400,
  unauthorized: 401,
  read_only: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  too_many_streams: 503,
  unavailable: 503,
  internal: 500,
}

/** Why a request gets no answer of its own: a code for programs, and a sentence for people. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  get status(): number {
    return STATUS[this.code]
  }
}

// By name, because a client of another copy of this package throws errors of other classes.
const CODES: Readonly<Record<string, ErrorCode>> = {
  NotFoundError: 'not_found',
  ConflictError: 'conflict',
  ChannelFullError: 'conflict',
  QueueError: 'conflict',
}

/**
 * How an error about an argument begins: with the call of a client, an outbox or a queue that got what the
 * request said. Any other TypeError or RangeError is a mistake inside, whose words are not for the caller.
 */
const ARGUMENT_OF =
  /^(?:admin\.\w+|deadLetters\.\w+|queue [a-z ]+|channel|get|list|count|history|export|fork|send|cancel|terminate|suspend|resume|delete|pause|trigger): /

function isAboutArgument(error: Error): boolean {
  if (error.name !== 'TypeError' && error.name !== 'RangeError') return false
  // One with a cause passes on what went wrong elsewhere, such as in a codec.
  return error.cause === undefined && ARGUMENT_OF.test(error.message)
}

/** Checks what a request gives; what these checks refuse is a bad request. */
export function checked<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error
    throw new Failure('bad_request', error.message, { cause: error })
  }
}

/** Turns an error of any kind into an answer for the caller. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (!(error instanceof Error)) return unexpected(error)
  if (error.name === 'StoreError') {
    // The words of a driver may name hosts and users.
    const { code } = error as { code?: unknown }
    const message = `the store does not answer as it should (${String(code)}): the log says more`
    return new Failure('unavailable', message, { cause: error })
  }
  const known = Object.hasOwn(CODES, error.name) ? CODES[error.name] : undefined
  const code = isAboutArgument(error) ? 'bad_request' : known
  return code === undefined ? unexpected(error) : new Failure(code, error.message, { cause: error })
}

function unexpected(cause: unknown): Failure {
  return new Failure('internal', 'something went wrong: the log of the dashboard says what', {
    cause,
  })
}
