import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Filter, InstanceInfo } from '../../../index.ts'
import { type Call, command } from '../../args/command.ts'
import { EXIT, UsageError } from '../../errors/cli-error.ts'
import { durationMs } from '../../../base/time/duration.ts'
import { durationValue, idValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { safeText } from '../../output/safe-text.ts'
import { tableLines } from '../../output/table.ts'
import { withClient } from '../../store/with-client.ts'
import { FILTER_OPTIONS, filterOf, isFiltered } from './filters.ts'
import { notFound } from './show.ts'
import { detailOf, INSTANCE_LIST, statusStyle } from './view.ts'

const OPTIONS = {
  ...FILTER_OPTIONS,
  interval: {
    type: 'string',
    value: '<duration>',
    help: 'how often to look, without an id (default: 2s)',
  },
} as const

export const watch = command({
  name: 'instances watch',
  summary: 'follow an instance until it ends, or follow all that match a filter',
  details:
    'With an id, prints a line for each change of status, progress or execution, and ends with the\n' +
    'instance: with 0 if it completed, and with 1 otherwise. Without an id it shows the latest instances\n' +
    'again and again, until you press Ctrl-C; where the output is not a terminal, only those that changed.',
  args: [{ name: 'id', help: 'the id of an instance', optional: true }],
  options: OPTIONS,
  examples: [
    { line: 'holdfast instances watch order-7', what: 'until it ends' },
    { line: 'holdfast instances watch order-7 -o json', what: 'a JSON object for each change' },
  ],
  run: async (call) => {
    const [id] = call.args
    const filter = filterOf(call.options)
    if (id !== undefined && isFiltered(filter)) {
      throw new UsageError('give an id or a filter, not both', 'instances watch')
    }
    if (id !== undefined) idValue(id, '<id>')
    return withClient(call, (client) =>
      id === undefined ? watchAll(call, client, filter) : watchOne(call, client, id),
    )
  },
})

async function watchOne(call: Call, client: Client, id: string): Promise<number> {
  const { terminal, signal } = call
  const instance = client.get(id)
  if ((await instance.info()) === undefined) throw notFound(id)
  let last: InstanceInfo | undefined
  for await (const info of instance.watch({ signal })) {
    last = info
    printChange(call, info)
  }
  if (last?.status === 'completed') return EXIT.ok
  terminal.note(`${safeText(id)} is ${last?.status ?? 'gone'}`)
  return EXIT.failed
}

function printChange({ terminal, format }: Call, info: InstanceInfo): void {
  if (format === 'json') return terminal.print(toJson(info))
  if (format === 'ids') return terminal.print(terminal.isInteractive ? safeText(info.id) : info.id)
  const status = terminal.style(statusStyle(info), info.status.padEnd(10))
  const execution = info.execution > 1 ? `  execution ${info.execution}` : ''
  const shown = info.status === 'completed' ? toJson(info.output) : detailOf(info)
  const at = new Date().toISOString().slice(11, 23)
  terminal.print(`${at}  ${safeText(info.id)}  ${status}${execution}  ${safeText(shown)}`.trimEnd())
}

const LATEST = 30

async function watchAll(
  call: Call<typeof OPTIONS>,
  client: Client,
  filter: Filter,
): Promise<number> {
  const { terminal, format, options, signal } = call
  const everyMs = durationMs(durationValue(options.interval ?? '2s', '--interval'), '--interval')
  const seen = new Map<string, string>()
  for (;;) {
    const { items } = await client.list(filter, { limit: LATEST })
    if (terminal.isInteractive && format === 'table') {
      const lines = tableLines(terminal, items, INSTANCE_LIST.columns)
      // Some terminals do not know how high they are.
      const rows = (terminal.io.stdout as { rows?: number }).rows || LATEST + 2
      // Home, each line on a clear one, and nothing below. To clear what is behind a line that is as wide
      // as the terminal would take its last character.
      const frame = lines.slice(0, rows - 1).map((line) => `\u001b[2K${line}`)
      terminal.print(`\u001b[H${frame.join('\n')}\u001b[J`)
    } else {
      for (const info of items.toReversed()) {
        const state = toJson([info.status, info.execution, info.progress, info.updatedAt])
        if (seen.get(info.id) !== state) printChange(call, info)
        seen.set(info.id, state)
      }
    }
    await delay(everyMs, undefined, { signal })
  }
}
