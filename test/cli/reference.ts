// The reference of the command line, from the commands themselves. `npm run generate:cli` writes it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMON_OPTIONS, type Command, type OptionSpec } from '../../src/cli/args/command.ts'
import { optionText, usageOf } from '../../src/cli/args/help.ts'
import { COMMANDS } from '../../src/cli/commands.ts'

/** Where the reference is. */
export const REFERENCE = join(import.meta.dirname, '../../docs/reference/cli.md')

const HEAD = `# The command line

\`holdfast\` manages a store from a shell. The [guide](../guide/command-line.md) shows how its commands work together. This page is written by \`npm run generate:cli\`; every example on it is run by the tests, in a project with a module \`shop.ts\`, a store with instances and dead letters, a queue \`queue.db\` and an export \`order-9.json\`.

## The store

The first of these that is given names the store:

| where                                                      | example                                        |
| ---------------------------------------------------------- | ---------------------------------------------- |
| \`--store\`                                                | \`--store postgres://localhost/shop\`          |
| the variable \`HOLDFAST_STORE\`                              | \`HOLDFAST_STORE=file:shop.db\`                |
| \`"holdfast"\` in the nearest \`package.json\`               | \`"holdfast": { "store": "file:shop.db" }\`    |
| \`.holdfast/dev.json\`, which \`dev\` writes while it runs   |                                                |

\`--schema\`, \`HOLDFAST_SCHEMA\` or \`"schema"\` in \`package.json\` name the schema on PostgreSQL; for a file, what is configured there is ignored. Paths in \`package.json\` are relative to it; \`"modules"\` there is what \`dev\` and \`start\` run. If your processes use a \`codec\` of their own, name a module that exports it: \`--codec\`, \`HOLDFAST_CODEC\` or \`"codec"\`. Passwords are never printed. Only \`dev\`, \`start\`, \`run --module\` and \`migrate\` create or upgrade a store: all other commands refuse one that does not exist, or that is older than this version. Commands for a queue refuse a file that is missing or empty.

## Output

\`-o table\` is for people, and leaves out columns on the right of a narrow terminal; \`-o json\` is for programs: a list is an array, \`watch\` prints an object a line. \`-o ids\` prints one id a line, for commands that read ids from standard input (\`-\`). In JSON, dates are in ISO 8601, bigints are strings, maps are lists of pairs, sets are lists, and bytes are base64.

What was asked for goes to standard output, and everything else to standard error. Colours and progress bars appear on terminals only; \`NO_COLOR\`, \`FORCE_COLOR\` and \`--no-color\` are respected. Characters from ids, labels, errors and values that could control a terminal are shown as escapes.

## Exit codes

| code | meaning                                                                                          |
| ---- | ------------------------------------------------------------------------------------------------ |
| 0    | done                                                                                             |
| 1    | failed: the store cannot be reached, a workflow failed, \`doctor\` found an error                  |
| 2    | the command line is wrong                                                                        |
| 3    | not found: the instance, dead letter, schedule, file or store                                    |
| 4    | conflict: the id is taken, the instance has ended, the channel is full                           |
| 130  | interrupted by Ctrl-C                                                                            |

A reader that closes the pipe early, such as \`head\`, ends a command with 0. \`dev\` and \`start\` end with 0 after SIGTERM or Ctrl-C, once they have stopped in order. When their output cannot be written any more, such as when a log shipper dies, they stop in order, too, and end with 1.
`

/** The text of the reference. */
export function reference(): string {
  return [
    HEAD,
    '## Options of all commands\n',
    optionTable(COMMON_OPTIONS),
    ...COMMANDS.map(section),
  ].join('\n')
}

function section(command: Command): string {
  const { name, summary, details, args, options, examples } = command
  const parts = [
    `\n## ${name}\n`,
    `${summary[0]!.toUpperCase()}${summary.slice(1)}.\n`,
    ...(details === undefined
      ? []
      : [`${details.replaceAll('\n', ' ').replaceAll('<(', '\\<(')}\n`]),
    `\`\`\`text\n${usageOf(command)}\n\`\`\`\n`,
  ]
  const rows = [
    ...args.map((arg) => [`<${arg.name}>`, arg.help]),
    ...Object.entries(options).map(([option, spec]) => [optionText(option, spec), spec.help]),
  ]
  if (rows.length > 0) parts.push(table(rows))
  for (const { line, what } of examples) parts.push(`\`\`\`sh\n${line} # ${what}\n\`\`\`\n`)
  return parts.join('\n')
}

function optionTable(options: Readonly<Record<string, OptionSpec>>): string {
  return table(Object.entries(options).map(([name, spec]) => [optionText(name, spec), spec.help]))
}

function table(rows: readonly (readonly string[])[]): string {
  const lines = rows.map(
    ([name, help]) => `| \`${name}\` | ${help!.replaceAll('|', '\\|').replaceAll('<', '\\<')} |`,
  )
  return ['| | |', '| --- | --- |', ...lines, ''].join('\n')
}

if (process.argv[2] === '--write') writeFileSync(REFERENCE, reference())
