import { registerErrorClass } from '../../base/errors.ts'

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
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.position = position
    this.expected = expected
    this.actual = actual
  }
}
