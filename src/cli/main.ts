// Runs one command line.

import { VERSION } from '../base/version.ts'
import { oneOf } from '../base/options.ts'
import type { Command, Surroundings } from './args/command.ts'
import { commandHelp, overview } from './args/help.ts'
import { parse, type Parsed } from './args/parse.ts'
import { COMMANDS } from './commands.ts'
import { logLines } from './commands/running/log-lines.ts'
import {
  CODEC_HINT,
  EXIT,
  exitCodeOf,
  messageOf,
  needsCodec,
  UsageError,
} from './errors/cli-error.ts'
import { withoutPasswords } from './errors/redact.ts'
import { stackOf } from './errors/stacks.ts'
import { FORMATS, type Format } from './output/print.ts'
import { safeLines } from './output/safe-text.ts'
import { type Io, Terminal } from './output/terminal.ts'

/** Runs a command line; returns the exit code. Never throws. */
export async function main(
  argv: readonly string[],
  io: Io,
  interrupt: AbortSignal,
): Promise<number> {
  const noColor = argv.includes('--no-color')
  const terminal = new Terminal(io, { noColor })
  const isVerbose = argv.includes('--verbose')
  let parsed: Parsed | undefined
  try {
    parsed = parse(argv.length === 0 ? ['--help'] : argv, COMMANDS)
    if (parsed.values['version'] === true) {
      terminal.print(VERSION)
      return EXIT.ok
    }
    const { command } = parsed
    if (command === undefined || parsed.values['help'] === true) {
      terminal.print(helpFor(terminal, parsed))
      return EXIT.ok
    }
    return await perform(command, parsed, terminal, isVerbose, interrupt)
  } catch (error) {
    if (interrupt.aborted) return EXIT.interrupted
    // Among lines of JSON, for programs.
    if (parsed?.values['log'] === 'json') {
      logLines(terminal, 'json', 'error', isVerbose).error({ err: error }, messageOf(error))
    } else report(terminal, error, isVerbose, parsed?.command?.name ?? '')
    return exitCodeOf(error)
  }
}

/** Whether a command line is of a command that deals with signals itself. */
export function ownsSignals(argv: readonly string[]): boolean {
  try {
    return parse(argv, COMMANDS).command?.ownsSignals === true
  } catch {
    return false
  }
}

async function perform(
  command: Command,
  { args, values }: Parsed,
  terminal: Terminal,
  isVerbose: boolean,
  interrupt: AbortSignal,
): Promise<number> {
  const surroundings: Surroundings = {
    terminal,
    isVerbose,
    signal: interrupt,
    format: formatOf(command.name, values['output']),
    store: values['store'] as string | undefined,
    schema: values['schema'] as string | undefined,
    codec: values['codec'] as string | undefined,
    commands: COMMANDS,
  }
  const code = await command.run({ ...surroundings, args, options: values as never })
  return code ?? EXIT.ok
}

function helpFor(terminal: Terminal, { command, words, args }: Parsed): string {
  if (command !== undefined) return commandHelp(terminal, command)
  if (words.length === 0 && args.length > 0) {
    throw new UsageError(`there is no command "${args.join(' ')}"`)
  }
  return overview(terminal, COMMANDS, words[0])
}

function formatOf(command: string, given: unknown): Format {
  if (given === undefined) return 'table'
  try {
    return oneOf(FORMATS, 'table').check(given, '--output')
  } catch (error) {
    throw new UsageError((error as Error).message, command)
  }
}

function report(terminal: Terminal, error: unknown, isVerbose: boolean, command: string): void {
  const say = (text: string): void => terminal.note(safeLines(withoutPasswords(text)))
  const message = messageOf(error)
  const label = terminal.styleNote('red', 'holdfast:')
  terminal.note(`${label} ${safeLines(withoutPasswords(message))}`)
  if (isVerbose && error instanceof Error) say(stackOf(error))
  if (error instanceof Error && needsCodec(error)) say(CODEC_HINT)
  if (error instanceof UsageError) {
    const name = error.command === '' ? command : error.command
    const words = name === '' ? '' : ` ${name}`
    say(`Try \`holdfast${words} --help\`.`)
  }
}
