// How a command ends: the exit codes, and the errors that have one of their own.

import { describe } from '../../base/describe.ts'
import { unknownName } from '../../base/options.ts'

/** The exit codes, as `docs/reference/cli.md` lists them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  conflict: 4,
  interrupted: 130,
} as const

/** An error with an exit code of its own. Its message is for people, without a stack. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.failed, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
  }
}

/** The command line cannot be understood. `command` is the one whose help the message suggests. */
export class UsageError extends CliError {
  readonly command: string

  constructor(message: string, command = '') {
    super(message, EXIT.usage)
    this.command = command
  }
}

/** The error for an unknown command or option: says what was probably meant. */
export function unknownWord(
  owner: string,
  kind: string,
  word: string,
  known: readonly string[],
): UsageError {
  const label = owner === '' ? 'holdfast' : owner
  const { message } = unknownName(label, kind, word, known)
  return new UsageError(owner === '' ? message.slice('holdfast: '.length) : message, owner)
}

/** Exit codes by the name of the error: the classes are in modules that few commands load. */
const CODES: Readonly<Record<string, number>> = {
  NotFoundError: EXIT.notFound,
  ConflictError: EXIT.conflict,
  ChannelFullError: EXIT.conflict,
}

/** The exit code for an error that a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode
  const name = error instanceof Error ? error.name : ''
  return Object.hasOwn(CODES, name) ? CODES[name]! : EXIT.failed
}

/** What to do about values that cannot be read. */
export const CODEC_HINT =
  'Name the module of your codec: --codec <module>, HOLDFAST_CODEC, or "codec" in package.json.'

/** Whether an error says that the codec is missing, or is another one. */
export function needsCodec({ message }: { readonly message: string }): boolean {
  return message.startsWith('codec: ')
}

/**
 * What an error says, without the function that threw it, such as `admin.tree: `: a shell calls
 * commands. Errors of users stay as they are.
 */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return describe(error)
  const isOurs = ['StoreError', ...Object.keys(CODES)].includes(error.name)
  const isOfOption =
    (error instanceof TypeError || error instanceof RangeError) &&
    /^[a-z][\w.]*: \w+ must /i.test(error.message)
  return isOurs || isOfOption ? withoutOperation(error.message) : error.message
}

/** The same for the message of such an error. */
export function withoutOperation(message: string): string {
  return message.replace(/^(?:sqlite )?[a-z][\w.]*: /i, '')
}
