import { pad } from '../output/text-width.ts'
import type { Terminal } from '../output/terminal.ts'
import { type ArgumentSpec, type Command, COMMON_OPTIONS, type OptionSpec } from './command.ts'

/** The groups of commands, in the order of the help. */
const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Run workflows', ['dev', 'start', 'run']],
  ['Manage instances', ['instances', 'schedules', 'errors', 'prune']],
  ['Look at the store', ['stats', 'workflows', 'tasks', 'runtimes', 'doctor', 'migrate', 'check']],
  ['Messages', ['outbox', 'dead-letters', 'queue']],
]

/** How a command is called. */
export function usageOf({ name, args }: Command): string {
  return ['holdfast', name, ...args.map(argumentText), '[options]'].join(' ')
}

function argumentText({ name, optional, many }: ArgumentSpec): string {
  const text = `<${name}>${many === true ? '…' : ''}`
  return optional === true ? `[${text}]` : text
}

/** An option as it is written: `-o, --output <format>`. */
export function optionText(name: string, { short, value }: OptionSpec): string {
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`
  return short === undefined ? long : `-${short}, ${long}`
}

/** The help of one command. */
export function commandHelp(terminal: Terminal, command: Command): string {
  const { summary, details, args, options, examples } = command
  const title = (text: string): string => terminal.style('bold', text)
  const own = Object.entries(options).map(([name, spec]) => [optionText(name, spec), spec.help])
  const common = Object.entries(COMMON_OPTIONS).map(([name, spec]: [string, OptionSpec]) => [
    optionText(name, spec),
    spec.help,
  ])
  const shown = examples.map(({ line, what }) => `  # ${what}\n  ${line}`)
  return [
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.`,
    ...(details === undefined ? [] : [details]),
    `${title('Usage')}\n  ${usageOf(command)}`,
    ...(args.length === 0
      ? []
      : [`${title('Arguments')}\n${listed(args.map((arg) => [argumentText(arg), arg.help]))}`]),
    ...(own.length === 0 ? [] : [`${title('Options')}\n${listed(own)}`]),
    `${title('Options of all commands')}\n${listed(common)}`,
    ...(shown.length === 0 ? [] : [`${title('Examples')}\n${shown.join('\n\n')}`]),
  ].join('\n\n')
}

/** The help of a group of commands, or of all of them. */
export function overview(
  terminal: Terminal,
  commands: readonly Command[],
  group: string | undefined,
): string {
  const title = (text: string): string => terminal.style('bold', text)
  if (group !== undefined) {
    const own = commands.filter(({ name }) => name.startsWith(`${group} `))
    return [
      `${title('Usage')}\n  holdfast ${group} <command> [options]`,
      `${title('Commands')}\n${linesOf(own)}`,
      `Try \`holdfast ${group} <command> --help\` for options and examples.`,
    ].join('\n\n')
  }
  const grouped = GROUPS.map(
    ([name, names]) => [name, commands.filter((one) => names.includes(groupOf(one)))] as const,
  )
  const others = commands.filter((one) => !GROUPS.some(([, names]) => names.includes(groupOf(one))))
  return [
    `${title('Usage')}\n  holdfast <command> [options]`,
    ...[...grouped, ['More', others] as const]
      .filter(([, some]) => some.length > 0)
      .map(([name, some]) => `${title(name)}\n${linesOf(some)}`),
    'Try `holdfast <command> --help` for options and examples.',
  ].join('\n\n')
}

function linesOf(commands: readonly Command[]): string {
  return listed(commands.map(({ name, summary }) => [name, summary]))
}

function groupOf({ name }: Command): string {
  return name.split(' ')[0]!
}

function listed(rows: readonly (readonly string[])[]): string {
  const width = Math.max(...rows.map(([name]) => name!.length))
  return rows.map(([name, text]) => `  ${pad(name!, width)}  ${text}`).join('\n')
}
