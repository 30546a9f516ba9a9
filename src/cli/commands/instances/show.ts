import { CliError, CODEC_HINT, EXIT, needsCodec } from '../../errors/cli-error.ts'
import { command } from '../../args/command.ts'
import { countValue, idValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printList, printRecord } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { fit } from '../../output/text-width.ts'
import { timeText } from '../../output/times.ts'
import { withClient } from '../../store/with-client.ts'
import { detailOf, labelText, statusStyle } from './view.ts'

/** The error for an id that no instance has. */
export function notFound(id: string): CliError {
  return new CliError(`there is no instance "${id}"`, EXIT.notFound)
}

export const show = command({
  name: 'instances show',
  summary: 'show an instance: its status, what it waits for, its result or error',
  args: [{ name: 'id', help: 'the id of the instance' }],
  options: {},
  examples: [
    { line: 'holdfast instances show order-7', what: 'for people' },
    { line: 'holdfast instances show order-7 -o json', what: 'for programs' },
  ],
  run: async (call) => {
    const id = idValue(call.args[0]!, '<id>')
    await withClient(call, async (client) => {
      const info = await client.get(id).info()
      if (info === undefined) throw notFound(id)
      const [usage, executions] = await Promise.all([
        client.admin.usage(id),
        client.admin.executions(id),
      ])
      const { terminal, format } = call
      printRecord(terminal, format, { ...info, usage, executions }, id, [
        ['id', info.id],
        ['workflow', `${info.workflow}${info.version === '' ? '' : ` ${info.version}`}`],
        ['status', info.status],
        ['execution', info.execution > 1 ? String(info.execution) : ''],
        ['labels', labelText(info.labels)],
        ['parent', info.parentId ?? ''],
        ['created', timeText(info.createdAt)],
        ['updated', timeText(info.updatedAt)],
        ['finished', timeText(info.finishedAt)],
        ['waiting for', info.waitingFor.join('\n')],
        ['progress', info.progress === undefined ? '' : toJson(info.progress)],
        ['output', info.output === undefined ? '' : toJson(info.output, 2)],
        ['error', info.error === undefined ? '' : `${info.error.name}: ${info.error.message}`],
        [
          'stored',
          `${usage.events} events, ${usage.historyBytes} bytes of history, ${usage.stateKeys} state keys, ` +
            `${usage.messages} messages, ${usage.tasks} tasks`,
        ],
      ])
      if (info.error !== undefined && needsCodec(info.error)) terminal.note(CODEC_HINT)
    })
  },
})

export const history = command({
  name: 'instances history',
  summary: 'show the events of an execution',
  args: [{ name: 'id', help: 'the id of the instance' }],
  options: {
    execution: { type: 'string', value: '<number>', help: 'which execution (default: the latest)' },
  },
  examples: [
    { line: 'holdfast instances history order-7', what: 'what happened, in order' },
    { line: 'holdfast instances history order-7 -o json', what: 'with all values' },
  ],
  run: async (call) => {
    const id = idValue(call.args[0]!, '<id>')
    const { terminal, format, options } = call
    const execution =
      options.execution === undefined ? undefined : countValue(options.execution, '--execution')
    const events = await withClient(call, async (client) => {
      const found = []
      const wanted = execution === undefined ? {} : { execution }
      for await (const event of client.get(id).history(wanted)) found.push(event)
      return found
    })
    printList(terminal, format, events, {
      columns: [
        { title: 'SEQ', value: ({ seq }) => String(seq) },
        { title: 'AT', value: ({ at }) => at.toISOString() },
        { title: 'TYPE', value: ({ type }) => type },
        { title: 'DATA', value: ({ data }) => fit(toJson(data), 2_000), shrinks: true },
      ],
      id: ({ seq }) => String(seq),
      none: 'no events',
    })
  },
})

export const tree = command({
  name: 'instances tree',
  summary: 'show an instance with its children and their children',
  args: [{ name: 'id', help: 'the id of the instance' }],
  options: { root: { type: 'boolean', help: 'begin at its topmost ancestor' } },
  examples: [{ line: 'holdfast instances tree family-1', what: 'with all descendants' }],
  run: async (call) => {
    const id = idValue(call.args[0]!, '<id>')
    const { terminal, format, options } = call
    const members = await withClient(call, (client) =>
      client.admin.tree(id, { from: options.root ? 'root' : 'instance' }),
    )
    if (format !== 'table') {
      const idOf = (member: (typeof members)[number]): string => member.id
      return printList(terminal, format, members, { columns: [], id: idOf, none: '' })
    }
    const childrenOf = (parent: string): readonly (typeof members)[number][] =>
      members.slice(1).filter(({ parentId }) => parentId === parent)
    const print = (member: (typeof members)[number], indent: string, branch: string): void => {
      const { id: own, workflow, status } = member
      const detail = detailOf(member)
      const line = `${safeText(own)}  ${safeText(workflow)}  ${terminal.style(statusStyle(member), status)}`
      terminal.print(`${indent}${branch}${line}${detail === '' ? '' : `  ${safeText(detail)}`}`)
      const children = childrenOf(own)
      const below = indent + (branch === '' ? '' : branch === '└─ ' ? '   ' : '│  ')
      for (const [i, child] of children.entries()) {
        print(child, below, i === children.length - 1 ? '└─ ' : '├─ ')
      }
    }
    print(members[0]!, '', '')
  },
})
