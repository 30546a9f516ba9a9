import { registerErrorClass } from '../../base/errors.ts'

/** The code does not do what its history says it did. The instance is set aside, not failed. */
export class NondeterminismError extends Error {
  static {
    registerErrorClass('NondeterminismError', NondeterminismError, [
      'position',
      'expected',
      'actual',
    ])
  }

  /** The number of the command that differs. */
  readonly position: number
  readonly expected: string
  readonly actual: string

  constructor(
    message: string,
    position: number,
    expected: string,
    actual: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.position = position
    this.expected = expected
    this.actual = actual
  }
}
