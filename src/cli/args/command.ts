import type { Terminal } from '../output/terminal.ts'
import type { Format } from '../output/print.ts'

/** An option of a command. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: true
  /** What stands for its value in the help, such as `<url>`. */
  readonly value?: string
  /** The words that its value may be, for completion. */
  readonly words?: readonly string[]
  readonly help: string
}

/** An argument of a command. */
export interface ArgumentSpec {
  readonly name: string
  readonly help: string
  readonly optional?: true
  /** Whether it may be given several times. Only the last one. */
  readonly many?: true
}

/** A command line that shows what a command is for. The tests run each of them. */
export interface Example {
  readonly line: string
  readonly what: string
}

/** The values of options, by name. */
export type Values<Options extends Readonly<Record<string, OptionSpec>>> = {
  readonly [Name in keyof Options]: Options[Name] extends { multiple: true }
    ? readonly string[]
    : Options[Name] extends { type: 'boolean' }
      ? boolean
      : string | undefined
}

/** What all commands get. */
export interface Surroundings {
  readonly terminal: Terminal
  readonly format: Format
  readonly isVerbose: boolean
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal
  /** `--store` and `--schema`, if given. */
  readonly store: string | undefined
  readonly schema: string | undefined
  /** `--codec`, if given. */
  readonly codec: string | undefined
  /** All commands, for those that are about commands. */
  readonly commands: readonly Command[]
}

/** One call of a command. */
export interface Call<
  Options extends Readonly<Record<string, OptionSpec>> = {},
> extends Surroundings {
  readonly args: readonly string[]
  readonly options: Values<Options>
}

/** A command, without the types of its options. */
export interface Command {
  /** All its words: `instances list`. */
  readonly name: string
  readonly summary: string
  /** More about it, in paragraphs. */
  readonly details?: string
  readonly args: readonly ArgumentSpec[]
  readonly options: Readonly<Record<string, OptionSpec>>
  readonly examples: readonly Example[]
  /** Whether it deals with SIGINT and SIGTERM itself. */
  readonly ownsSignals?: true
  /** Returns the exit code; none for 0. */
  run(call: Call<Readonly<Record<string, OptionSpec>>>): Promise<number | void>
}

/** Defines a command; its options have types. */
export function command<const Options extends Readonly<Record<string, OptionSpec>>>(
  definition: Omit<Command, 'run' | 'options'> & {
    readonly options: Options
    run(call: Call<Options>): Promise<number | void>
  },
): Command {
  return definition
}

/** Options of every command. */
export const COMMON_OPTIONS = {
  store: {
    type: 'string',
    value: '<url>',
    help: 'the store: file:<path> or postgres://… (default: HOLDFAST_STORE, or "holdfast" in package.json)',
  },
  schema: {
    type: 'string',
    value: '<name>',
    help: 'the schema on PostgreSQL (default: HOLDFAST_SCHEMA, "schema" in package.json, or holdfast)',
  },
  codec: {
    type: 'string',
    value: '<module>',
    help: 'a module that exports the `codec` of your processes, if they have one (default: HOLDFAST_CODEC)',
  },
  output: {
    type: 'string',
    short: 'o',
    value: '<format>',
    words: ['table', 'json', 'ids'],
    help: 'table, json or ids (default: table)',
  },
  'no-color': { type: 'boolean', help: 'no colours (as NO_COLOR=1)' },
  verbose: { type: 'boolean', help: 'show stack traces and warnings of the client' },
  help: { type: 'boolean', short: 'h', help: 'show the help of a command' },
  version: { type: 'boolean', help: 'show the version' },
} as const satisfies Readonly<Record<string, OptionSpec>>
