import type { Queue, Stored } from '../../../queue/index.ts'
import { type Call, command, type OptionSpec } from '../../args/command.ts'
import { EXIT, UsageError } from '../../errors/cli-error.ts'
import { countValue, idsFrom } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { type ListView, printList, printRecord } from '../../output/print.ts'
import { timeText } from '../../output/times.ts'
import { queueFile } from '../../store/queue-file.ts'
import { notesOf } from '../../store/with-client.ts'

const OPTIONS = {
  name: { type: 'string', value: '<name>', help: 'of the queue in the file (default: default)' },
} as const satisfies Readonly<Record<string, OptionSpec>>

const FILE = { name: 'file', help: 'the file of the queue' } as const
const LIMIT = {
  limit: { type: 'string', short: 'n', value: '<count>', help: 'how many (default: 100)' },
} as const satisfies Readonly<Record<string, OptionSpec>>
const IDS = {
  name: 'id',
  help: 'ids of dead letters, or - for standard input',
  many: true,
} as const

/** Calls `work` with the queue of a file that exists. Nothing in it is read or changed by that alone. */
async function withQueue<T>(
  call: Pick<Call<typeof OPTIONS>, 'args' | 'terminal' | 'isVerbose' | 'options'>,
  work: (queue: Queue<unknown>) => Promise<T>,
): Promise<T> {
  const path = queueFile(call.args[0]!, call.terminal.io)
  const { openQueue } = await import('../../../queue/index.ts')
  const { name } = call.options
  await using queue = await openQueue<unknown>(path, {
    lazy: true,
    thread: false,
    log: notesOf(call),
    ...(name !== undefined && { name }),
  })
  return await work(queue)
}

const VIEW: ListView<Stored<unknown>> = {
  columns: [
    { title: 'ID', value: ({ id }) => String(id) },
    { title: 'PUSHED', value: ({ pushedAt }) => timeText(pushedAt) },
    { title: 'ATTEMPT', value: ({ attempt }) => String(attempt) },
    { title: 'REASON', value: ({ reason }) => reason ?? '', shrinks: true },
    { title: 'DATA', value: dataOf, shrinks: true },
  ],
  id: ({ id }) => String(id),
  none: 'no messages',
}

function dataOf(message: Stored<unknown>): string {
  return message.error === undefined ? toJson(message.data) : message.error.message
}

/** With values instead of getters, which JSON would leave out. */
function plain(message: Stored<unknown>): Stored<unknown> {
  const { id, attempt, pushedAt, reason, error } = message
  return {
    id,
    attempt,
    pushedAt,
    data: error === undefined ? message.data : undefined,
    ...(reason !== undefined && { reason }),
    ...(error !== undefined && { error }),
  }
}

export const queueStats = command({
  name: 'queue stats',
  summary: 'count the messages of a queue',
  args: [FILE],
  options: OPTIONS,
  examples: [{ line: 'holdfast queue stats queue.db', what: 'by state' }],
  run: (call) =>
    withQueue(call, async ({ counts }) => {
      const record = Object.entries(counts).map(([name, n]) => [name, String(n)] as const)
      printRecord(call.terminal, call.format, counts, call.args[0]!, record)
    }),
})

export const queueList = command({
  name: 'queue list',
  summary: 'list messages of a queue that are not acknowledged',
  args: [FILE],
  options: { ...OPTIONS, ...LIMIT },
  examples: [{ line: 'holdfast queue list queue.db --limit 10', what: 'the oldest ten' }],
  run: (call) =>
    withQueue(call, async (queue) => {
      const limit = countValue(call.options.limit ?? '100', '--limit')
      const found: Stored<unknown>[] = []
      for await (const message of queue) {
        found.push(plain(message))
        if (found.length === limit) break
      }
      printList(call.terminal, call.format, found, VIEW)
    }),
})

export const queueDead = command({
  name: 'queue dead',
  summary: 'list dead letters of a queue',
  args: [FILE],
  options: { ...OPTIONS, ...LIMIT },
  examples: [
    { line: 'holdfast queue dead queue.db', what: 'with reasons' },
    {
      line: 'holdfast queue dead queue.db -o ids | holdfast queue retry queue.db -',
      what: 'try all of them again',
    },
  ],
  run: (call) =>
    withQueue(call, async ({ dead }) => {
      const limit = countValue(call.options.limit ?? '100', '--limit')
      const found = await dead.list({ limit })
      printList(call.terminal, call.format, found.map(plain), { ...VIEW, none: 'no dead letters' })
    }),
})

export const queueRetry = command({
  name: 'queue retry',
  summary: 'put dead letters of a queue back, with their attempts reset',
  args: [FILE, IDS],
  options: OPTIONS,
  examples: [{ line: 'holdfast queue retry queue.db 0', what: 'one' }],
  run: (call) => change(call, 'retried', ({ dead }, ids) => dead.retry(ids)),
})

export const queueDiscard = command({
  name: 'queue discard',
  summary: 'remove dead letters of a queue',
  args: [FILE, IDS],
  options: OPTIONS,
  examples: [{ line: 'holdfast queue discard queue.db 0', what: 'one' }],
  run: (call) => change(call, 'discarded', ({ dead }, ids) => dead.discard(ids)),
})

async function change(
  call: Call<typeof OPTIONS>,
  done: string,
  work: (queue: Queue<unknown>, ids: readonly number[]) => Promise<number>,
): Promise<number> {
  const texts = await idsFrom(call.args.slice(1), call.terminal.io)
  const wrong = texts.find((id) => !/^\d{1,15}$/.test(id))
  if (wrong !== undefined) throw new UsageError(`"${wrong}" is not the id of a message`, 'queue')
  const count = await withQueue(call, (queue) => work(queue, texts.map(Number)))
  if (call.format === 'json') call.terminal.print(toJson({ [done]: count }))
  else call.terminal.note(`${done}: ${count} ${count === 1 ? 'message' : 'messages'}`)
  return count < texts.length ? EXIT.notFound : EXIT.ok
}
