import type { Outbox } from '../../../outbox/index.ts'
import { command, type OptionSpec, type Surroundings } from '../../args/command.ts'
import { CliError, EXIT } from '../../errors/cli-error.ts'
import { printList } from '../../output/print.ts'
import { ageText } from '../../output/times.ts'
import { requireStore } from '../../store/choose-store.ts'
import { statusOf, withClient } from '../../store/with-client.ts'

/** Options of commands for an outbox. */
export const OUTBOX_OPTIONS = {
  prefix: {
    type: 'string',
    value: '<prefix>',
    help: 'of the tables of the outbox (default: outbox)',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** Calls `work` with the outbox of a store, unless there is none. */
export async function withOutbox<T>(
  surroundings: Surroundings,
  prefix = 'outbox',
  work: (outbox: Outbox) => Promise<T>,
): Promise<T> {
  const choice = requireStore(surroundings)
  return withClient(surroundings, async (client) => {
    if (choice.kind !== 'memory') {
      const { state, detail } = await statusOf(choice, prefix)
      if (state === 'missing') {
        throw new CliError(
          `${detail}: check --prefix, or create it with \`holdfast migrate --outbox ${prefix}\``,
          EXIT.notFound,
        )
      }
      if (state === 'behind') {
        throw new CliError(`${detail}; run \`holdfast migrate --outbox ${prefix}\``)
      }
    }
    const { outbox } = await import('../../../outbox/index.ts')
    return work(outbox(client, { prefix }))
  })
}

export const outboxStats = command({
  name: 'outbox',
  summary: 'show how full the partitions of an outbox are',
  args: [],
  options: OUTBOX_OPTIONS,
  examples: [{ line: 'holdfast outbox', what: 'all topics' }],
  run: async (call) => {
    const { terminal, format, options } = call
    const stats = await withOutbox(call, options.prefix, (outbox) => outbox.stats({ all: true }))
    printList(terminal, format, stats, {
      columns: [
        { title: 'TOPIC', value: ({ topic }) => topic },
        { title: 'PARTITION', value: ({ partition }) => String(partition) },
        { title: 'MESSAGES', value: ({ depth }) => String(depth) },
        { title: 'READY', value: ({ lag }) => String(lag) },
        { title: 'OLDEST', value: ({ oldestMs }) => (oldestMs === 0 ? '' : ageText(oldestMs)) },
      ],
      id: ({ topic }) => topic,
      none: 'no topics',
    })
  },
})
