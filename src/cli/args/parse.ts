// Reads a command line: which command, its arguments and its options.

import { parseArgs } from 'node:util'
import { unknownWord, UsageError } from '../errors/cli-error.ts'
import { type Command, COMMON_OPTIONS, type OptionSpec } from './command.ts'

/** A command line that was understood. */
export interface Parsed {
  /** `undefined` when only help or the version was asked for. */
  readonly command: Command | undefined
  /** The words that name a command or a group of commands. */
  readonly words: readonly string[]
  readonly args: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Finds the command and reads its arguments. Throws a `UsageError` for anything that is unknown. */
export function parse(argv: readonly string[], commands: readonly Command[]): Parsed {
  // The words of a command come before its own options, which may take values.
  const named = tokensOf(argv, COMMON_OPTIONS)
  const { command, words } = findCommand(positionalsOf(named), commands)
  const known: Readonly<Record<string, OptionSpec>> = { ...COMMON_OPTIONS, ...command?.options }
  const tokens = tokensOf(argv, known)
  const positionals = positionalsOf(tokens)
  const given = tokens.filter((token) => token.kind === 'option')
  const isHelp = given.some(({ name }) => name === 'help' || name === 'version')
  const owner = words.join(' ')
  const values: Record<string, string | boolean | string[]> = {}
  for (const [name, { type, multiple }] of Object.entries(known)) {
    if (multiple === true) values[name] = []
    else if (type === 'boolean') values[name] = false
  }
  for (const { name, rawName, value, inlineValue } of given) {
    if (isHelp && !Object.hasOwn(known, name)) continue
    if (!Object.hasOwn(known, name)) throw unknownOption(owner, rawName, known)
    const { type, multiple } = known[name]!
    if (type === 'boolean') {
      if (value !== undefined) throw new UsageError(`${rawName} takes no value`, owner)
      values[name] = true
      continue
    }
    if (value === undefined || (!inlineValue && /^-./.test(value))) {
      const hint = value === undefined ? '' : `; if it begins with a dash, write --${name}=${value}`
      throw new UsageError(`${rawName} needs a value${hint}`, owner)
    }
    if (multiple === true) (values[name] as string[]).push(value)
    else values[name] = value
  }
  const args = positionals.slice(words.length)
  if (isHelp) return { command, words, args, values }
  if (command === undefined) throw noCommand(words, positionals, commands)
  checkArguments(command, args)
  return { command, words, args, values }
}

type Tokens = NonNullable<ReturnType<typeof parseArgs>['tokens']>

function tokensOf(argv: readonly string[], options: Readonly<Record<string, OptionSpec>>): Tokens {
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  return tokens
}

function positionalsOf(tokens: Tokens): readonly string[] {
  return tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []))
}

/** The command with the most words that match, or the group that they name. */
function findCommand(
  positionals: readonly string[],
  commands: readonly Command[],
): { command: Command | undefined; words: readonly string[] } {
  for (let count = Math.min(2, positionals.length); count > 0; count--) {
    const name = positionals.slice(0, count).join(' ')
    const command = commands.find((one) => one.name === name)
    if (command !== undefined) return { command, words: name.split(' ') }
  }
  const isGroup = commands.some(({ name }) => name.startsWith(`${positionals[0]} `))
  return { command: undefined, words: isGroup ? [positionals[0]!] : [] }
}

function noCommand(
  words: readonly string[],
  positionals: readonly string[],
  commands: readonly Command[],
): UsageError {
  const group = words[0]
  const place = group === undefined ? 0 : 1
  const known = [
    ...new Set(
      commands
        .map(({ name }) => name.split(' '))
        .filter((name) => group === undefined || name[0] === group)
        .map((name) => name[place]!),
    ),
  ]
  const word = positionals[place]
  if (word !== undefined) return unknownWord(group ?? '', 'command', word, known)
  return new UsageError(`${group ?? 'holdfast'}: which command? ${known.join(', ')}`, group)
}

function unknownOption(
  owner: string,
  rawName: string,
  known: Readonly<Record<string, OptionSpec>>,
): UsageError {
  if (/^-[^-]/.test(rawName)) {
    const hint = 'write -- before arguments that begin with a dash'
    return new UsageError(`unknown option ${rawName}; ${hint}`, owner)
  }
  const names = Object.keys(known).map((name) => `--${name}`)
  return unknownWord(owner, 'option', rawName, names)
}

function checkArguments({ name, args: specs }: Command, args: readonly string[]): void {
  const missing = specs.slice(args.length).find(({ optional }) => optional !== true)
  if (missing !== undefined) throw new UsageError(`${name}: <${missing.name}> is missing`, name)
  if (args.length > specs.length && specs.at(-1)?.many !== true) {
    throw new UsageError(`${name}: unexpected argument "${args[specs.length]}"`, name)
  }
}
