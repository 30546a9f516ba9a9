import { registerErrorClass } from '../../base/errors.ts'
import type { CommandEvent, NoteEvent } from '../../store/history.ts'

/** What does not match, for programs: a report says it in words. */
export interface Mismatch {
  /** What history has at this place. */
  readonly recorded?: CommandEvent | NoteEvent
  /** What the code does there. */
  readonly given?: CommandEvent | NoteEvent
  /** What the code does if it asks for nothing. */
  readonly does?: 'returns' | 'continues as new' | 'throws' | 'waits'
  /** Whether the code does what is recorded as well, after that. */
  readonly isLater?: boolean
  /** Where in the code, as a line of a stack; empty if that is not known. */
  readonly line: string
}

/** The workflow code does not match the recorded history. The instance is suspended, not failed. */
export class NondeterminismError extends Error {
  static {
    registerErrorClass('NondeterminismError', NondeterminismError, [
      'position',
      'expected',
      'actual',
    ])
  }

  /** The number of the command that does not match. */
  readonly position: number
  readonly expected: string
  readonly actual: string

  constructor(
    message: string,
    position: number,
    expected: string,
    actual: string,
    options?: ErrorOptions & { readonly mismatch?: Mismatch },
  ) {
    super(message, options)
    this.position = position
    this.expected = expected
    this.actual = actual
    if (options?.mismatch !== undefined) mismatches.set(this, options.mismatch)
  }
}

// Not a property: it would be stored and shown with the error.
const mismatches = new WeakMap<NondeterminismError, Mismatch>()

/** What does not match; `undefined` for an error that was not made by a replay here. */
export function mismatchOf(error: NondeterminismError): Mismatch | undefined {
  return mismatches.get(error)
}
