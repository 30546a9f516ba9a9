import { command } from '../../args/command.ts'
import { countValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printList } from '../../output/print.ts'
import { safeText } from '../../output/safe-text.ts'
import { recordLines, tableLines } from '../../output/table.ts'
import { ageText, timeText } from '../../output/times.ts'
import { withClient } from '../../store/with-client.ts'
import { FILTER_OPTIONS, filterOf } from '../instances/filters.ts'
import { statusStyle } from '../instances/view.ts'

export const stats = command({
  name: 'stats',
  summary: 'show how much there is to do, and for how long it has been waiting',
  args: [],
  options: {
    metrics: { type: 'boolean', help: 'as flat names with numbers, for monitoring' },
  },
  examples: [
    { line: 'holdfast stats', what: 'for people' },
    { line: 'holdfast stats --metrics', what: 'a name and a number a line' },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    if (options.metrics) {
      const metrics = await withClient(call, (client) => client.admin.metrics())
      if (format === 'json') return terminal.print(toJson(metrics, 2))
      for (const [name, value] of Object.entries(metrics))
        terminal.print(`${safeText(name)} ${value}`)
      return
    }
    const found = await withClient(call, (client) => client.admin.stats())
    if (format === 'json') return terminal.print(toJson(found, 2))
    const { instances, tasks, messages, oldestDueMs, suspended, at } = found
    const lines = [
      ...recordLines(terminal, [
        ['at', timeText(at)],
        ['oldest due', oldestDueMs === 0 ? 'nothing is due' : ageText(oldestDueMs)],
        ['suspended', String(suspended)],
        ['messages', `${messages.waiting} waiting, ${messages.parked} parked`],
      ]),
    ]
    if (instances.length > 0) {
      lines.push(
        '',
        ...tableLines(terminal, instances, [
          { title: 'WORKFLOW', value: ({ workflow }) => workflow },
          { title: 'VERSION', value: ({ version }) => version },
          { title: 'STATUS', value: ({ status }) => status, style: statusStyle },
          { title: 'INSTANCES', value: ({ count }) => String(count) },
        ]),
      )
    }
    if (tasks.length > 0) {
      lines.push(
        '',
        ...tableLines(terminal, tasks, [
          { title: 'ACTIVITY', value: ({ activity }) => activity },
          { title: 'TAG', value: ({ tag }) => tag },
          { title: 'WAITING', value: ({ waiting }) => String(waiting) },
          { title: 'DELAYED', value: ({ delayed }) => String(delayed) },
          { title: 'RUNNING', value: ({ running }) => String(running) },
          { title: 'OLDEST', value: ({ oldestMs }) => ageText(oldestMs) },
        ]),
      )
    }
    for (const line of lines) terminal.print(line)
  },
})

export const errors = command({
  name: 'errors',
  summary: 'group failed and suspended instances by what went wrong',
  args: [],
  options: {
    ...FILTER_OPTIONS,
    limit: {
      type: 'string',
      short: 'n',
      value: '<count>',
      help: 'how many of the latest instances to look at (default: 1000)',
    },
  },
  examples: [
    { line: 'holdfast errors', what: 'the most frequent first' },
    { line: 'holdfast errors --workflow order --created-after 24h', what: 'of today' },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const limit = options.limit === undefined ? {} : { limit: countValue(options.limit, '--limit') }
    const groups = await withClient(call, (client) => client.admin.errors(filterOf(options), limit))
    printList(terminal, format, groups, {
      columns: [
        { title: 'COUNT', value: ({ count }) => String(count) },
        { title: 'SUSPENDED', value: ({ suspended }) => (suspended > 0 ? String(suspended) : '') },
        { title: 'WORKFLOW', value: ({ workflow }) => workflow },
        { title: 'LAST', value: ({ lastAt }) => timeText(lastAt) },
        { title: 'LATEST ID', value: ({ latestId }) => latestId },
        { title: 'ERROR', value: ({ name, message }) => `${name}: ${message}`, shrinks: true },
      ],
      id: ({ latestId }) => latestId,
      none: 'no errors',
    })
  },
})
