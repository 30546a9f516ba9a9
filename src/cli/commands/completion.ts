import { type Command, command, COMMON_OPTIONS, type OptionSpec } from '../args/command.ts'
import { wordValue } from '../input/values.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completion = command({
  name: 'completion',
  summary: 'print a script that completes commands and options in your shell',
  details:
    'bash: source <(holdfast completion bash)\n' +
    'zsh:  source <(holdfast completion zsh)\n' +
    'fish: holdfast completion fish | source',
  args: [{ name: 'shell', help: SHELLS.join(', ') }],
  options: {},
  examples: [{ line: 'holdfast completion bash', what: 'for ~/.bashrc' }],
  run: async ({ args, terminal, commands }) => {
    const shell = wordValue(args[0]!, '<shell>', SHELLS)
    terminal.print(shell === 'fish' ? fish(commands) : bash(commands, shell))
  },
})

/** What can follow what was typed: subcommands of each word, and options of each command. */
function wordsOf(commands: readonly Command[]): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, Set<string>>([['', new Set()]])
  const common = Object.keys(COMMON_OPTIONS).map((name) => `--${name}`)
  for (const { name, options } of commands) {
    const [first, second] = name.split(' ') as [string, string?]
    words.get('')!.add(first)
    if (second !== undefined) {
      words.set(first, (words.get(first) ?? new Set()).add(second))
    }
    words.set(name, new Set([...Object.keys(options).map((option) => `--${option}`), ...common]))
  }
  return new Map([...words].map(([key, set]) => [key, [...set]]))
}

/** Options with a value, as they are written. */
function valueOptions(options: Command['options']): readonly (readonly [string, OptionSpec])[] {
  return Object.entries(options)
    .filter(([, { type }]) => type === 'string')
    .flatMap(([name, spec]) =>
      [`--${name}`, ...(spec.short === undefined ? [] : [`-${spec.short}`])].map(
        (written) => [written, spec] as const,
      ),
    )
}

/** Names of commands are letters, dashes and spaces: nothing in them needs quoting. */
function bash(commands: readonly Command[], shell: 'bash' | 'zsh'): string {
  const cases = [...wordsOf(commands)].map(
    ([key, words]) => `    "${key}") words="${words.join(' ')}" ;;`,
  )
  const options = [COMMON_OPTIONS, ...commands.map((one) => one.options)].flatMap(valueOptions)
  const names = [...new Set(options.map(([name]) => name))]
  const valueCases = [{ name: '', options: COMMON_OPTIONS }, ...commands].flatMap((one) =>
    valueOptions(one.options).flatMap(([option, { words }]) => {
      const key = one.name === '' ? `*" ${option}"` : `"${one.name} ${option}"`
      return words === undefined ? [] : [`    ${key}) words="${words.join(' ')}" ;;`]
    }),
  )
  const start = shell === 'zsh' ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''
  return `${start}_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" key="" words="" word option="" i=1
  while [ $i -lt $COMP_CWORD ]; do
    word="\${COMP_WORDS[i]}"
    i=$((i + 1))
    case " ${names.join(' ')} " in
      *" $word "*)
        # Its value. The shell splits words at = and at :, as in --store=file:x.db.
        [ "\${COMP_WORDS[i]}" = "=" ] && i=$((i + 1))
        while [ $((i + 1)) -lt $COMP_CWORD ]; do
          case "\${COMP_WORDS[i + 1]}" in [:=]*) i=$((i + 2)) ;; *) break ;; esac
        done
        [ $i -ge $COMP_CWORD ] && option="$word"
        i=$((i + 1))
        continue ;;
    esac
    case "$word" in -*) continue ;; esac
    case " ${groupsOf(commands).join(' ')} " in
      *" $key "*) key="$key $word"; continue ;;
    esac
    [ -z "$key" ] && key="$word"
  done
  case "$key" in
${cases.join('\n')}
  esac
  [ -n "$option" ] && words=""
  [ -n "$option" ] && [ "$current" = "=" ] && current=""
  case "$key $option" in
${valueCases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast`
}

function groupsOf(commands: readonly Command[]): string[] {
  return [
    ...new Set(
      commands
        .map(({ name }) => name.split(' '))
        .filter(({ length }) => length > 1)
        .map(([first]) => first!),
    ),
  ]
}

function fish(commands: readonly Command[]): string {
  const lines = [...wordsOf(commands)].flatMap(([key, words]) => {
    const [first, second] = key.split(' ')
    const seen = first === '' ? '__fish_use_subcommand' : `__fish_seen_subcommand_from ${first}`
    const both = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`
    const own = commands.find(({ name }) => name === key)?.options
    const values = new Map(valueOptions({ ...COMMON_OPTIONS, ...own }))
    return words.map((word) =>
      word.startsWith('--')
        ? `complete -c holdfast -n "${both}" -l ${word.slice(2)}${valueInFish(values.get(word))}`
        : `complete -c holdfast -f -n "${both}" -a ${word}`,
    )
  })
  return lines.join('\n')
}

function valueInFish(spec: OptionSpec | undefined): string {
  if (spec === undefined) return ''
  return spec.words === undefined ? ' -r' : ` -x -a "${spec.words.join(' ')}"`
}
