import { command } from '../../args/command.ts'
import { aboutOption, countValue, wordValue } from '../../input/values.ts'
import { printPages } from '../../output/print.ts'
import { PagedList } from '../../store/paged-list.ts'
import { withClient } from '../../store/with-client.ts'
import { FILTER_OPTIONS, filterOf } from './filters.ts'
import { INSTANCE_LIST } from './view.ts'

export const list = command({
  name: 'instances list',
  summary: 'list instances, newest first',
  args: [],
  options: {
    ...FILTER_OPTIONS,
    limit: {
      type: 'string',
      short: 'n',
      value: '<count>',
      help: 'how many, or all (default: 100)',
    },
    after: { type: 'string', value: '<cursor>', help: 'continue after an earlier list' },
    order: {
      type: 'string',
      value: '<order>',
      words: ['newest', 'oldest'],
      help: 'newest or oldest first (default: newest)',
    },
  },
  examples: [
    { line: 'holdfast instances list', what: 'the latest hundred' },
    {
      line: 'holdfast instances list --workflow order --status failed,suspended --created-after 24h',
      what: 'what went wrong today',
    },
    {
      line: 'holdfast instances list --status suspended -o ids | holdfast instances resume -',
      what: 'pipe ids into another command',
    },
    {
      line: 'holdfast instances list --label customer=42 -o json',
      what: 'as JSON, for programs',
    },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const filter = filterOf(options)
    const order = wordValue(options.order ?? 'newest', '--order', ['newest', 'oldest'])
    const limit = options.limit === 'all' ? Infinity : countValue(options.limit ?? '100', '--limit')
    const next = await withClient(call, async (client) => {
      const found = new PagedList((page) => client.list(filter, { ...page, order }), {
        limit,
        after: options.after,
      })
      await printPages(terminal, format, found, INSTANCE_LIST)
      return found.next
    }).catch((error: unknown) => {
      throw aboutOption(error, 'after', '--after')
    })
    if (next === undefined || limit === Infinity) return
    terminal.note(terminal.styleNote('dim', `more: add --after ${next}, or choose another --limit`))
  },
})

export const count = command({
  name: 'instances count',
  summary: 'count instances',
  args: [],
  options: FILTER_OPTIONS,
  examples: [
    { line: 'holdfast instances count --workflow order --status running', what: 'of one workflow' },
  ],
  run: async (call) => {
    const filter = filterOf(call.options)
    const total = await withClient(call, (client) => client.admin.count(filter))
    call.terminal.print(String(total))
  },
})
