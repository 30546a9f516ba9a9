import type { DeadLetter, DeadLetterFilter } from '../../../outbox/index.ts'
import { type Call, command, type OptionSpec, type Values } from '../../args/command.ts'
import { CliError, EXIT, UsageError } from '../../errors/cli-error.ts'
import { confirm } from '../../input/confirm.ts'
import { countValue, durationValue, idsFrom, wordValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { type ListView, printList } from '../../output/print.ts'
import { timeText } from '../../output/times.ts'
import { OUTBOX_OPTIONS, withOutbox } from './outbox.ts'

const STATES = ['pending', 'reprocessing', 'resolved', 'discarded', 'any'] as const

const WHICH = {
  ...OUTBOX_OPTIONS,
  topic: { type: 'string', value: '<name>', help: 'of this topic' },
  partition: { type: 'string', value: '<index>', help: 'of this partition of it' },
} as const satisfies Readonly<Record<string, OptionSpec>>

const IDS = {
  name: 'id',
  help: 'ids of dead letters, or - for those on standard input',
  many: true,
} as const

const ASK = {
  yes: { type: 'boolean', short: 'y', help: 'do not ask' },
} as const satisfies Readonly<Record<string, OptionSpec>>

function filterOf({ topic, partition }: Values<typeof WHICH>): DeadLetterFilter {
  return {
    ...(topic !== undefined && { topic }),
    ...(partition !== undefined && { partition: countValue(partition, '--partition', 0) }),
  }
}

const VIEW: ListView<DeadLetter> = {
  columns: [
    { title: 'ID', value: ({ id }) => id },
    { title: 'TOPIC', value: ({ message }) => message.topic },
    { title: 'PARTITION', value: ({ message }) => String(message.partition) },
    { title: 'KEY', value: ({ message }) => message.key },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'FAILED', value: ({ failedAt }) => timeText(failedAt) },
    { title: 'ATTEMPTS', value: ({ message }) => String(message.attempt) },
    { title: 'REASON', value: ({ reason }) => reason, shrinks: true },
    { title: 'PAYLOAD', value: ({ message }) => toJson(message.payload), shrinks: true },
  ],
  id: ({ id }) => id,
  none: 'no dead letters',
}

export const listLetters = command({
  name: 'dead-letters list',
  summary: 'list messages of the outbox that are not delivered any more',
  args: [],
  options: {
    ...WHICH,
    status: {
      type: 'string',
      value: '<status>',
      words: STATES,
      help: `${STATES.join(', ')} (default: pending)`,
    },
    limit: { type: 'string', short: 'n', value: '<count>', help: 'how many (default: 100)' },
  },
  examples: [
    { line: 'holdfast dead-letters list', what: 'those that wait for a decision' },
    {
      line: 'holdfast dead-letters list --topic order-placed -o ids | holdfast dead-letters requeue -',
      what: 'deliver those of a topic again',
    },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const status = wordValue(options.status ?? 'pending', '--status', STATES)
    const limit = countValue(options.limit ?? '100', '--limit')
    const { items, next } = await withOutbox(call, options.prefix, ({ deadLetters }) =>
      deadLetters.list({ ...filterOf(options), status, limit }),
    )
    printList(terminal, format, items, VIEW)
    if (next !== undefined) terminal.note('there may be more: choose another --limit')
  },
})

export const requeue = command({
  name: 'dead-letters requeue',
  summary: 'put dead letters back into their topic, behind all other messages',
  args: [IDS],
  options: OUTBOX_OPTIONS,
  examples: [{ line: 'holdfast dead-letters requeue 1', what: 'deliver it again' }],
  run: async (call) => {
    const ids = await letterIds(call)
    const count = await withOutbox(call, call.options.prefix, ({ deadLetters }) =>
      deadLetters.requeue(ids),
    )
    return report(call, 'requeued', count, ids.length)
  },
})

export const replay = command({
  name: 'dead-letters replay',
  summary: 'take pending dead letters, to deal with them by hand or in a script',
  details:
    'They are yours until the deadline; no other replay gets them meanwhile. End each with `resolve` or `reject`;\n' +
    'after the deadline they are pending again.',
  args: [],
  options: {
    ...WHICH,
    deadline: {
      type: 'string',
      value: '<duration>',
      help: 'how long they are yours (default: 30s)',
    },
    limit: { type: 'string', short: 'n', value: '<count>', help: 'how many (default: 100)' },
  },
  examples: [
    {
      line: 'holdfast dead-letters replay --deadline 10m -o ids | holdfast dead-letters resolve -',
      what: 'take them, and mark them as dealt with',
    },
  ],
  run: async (call) => {
    const { terminal, format, options } = call
    const limit = countValue(options.limit ?? '100', '--limit')
    const deadline = durationValue(options.deadline ?? '30s', '--deadline')
    const taken = await withOutbox(call, options.prefix, ({ deadLetters }) =>
      deadLetters.replay({ ...filterOf(options), limit }, { deadline }),
    )
    printList(terminal, format, taken, VIEW)
  },
})

export const resolve = command({
  name: 'dead-letters resolve',
  summary: 'end a replay: the dead letters are dealt with',
  args: [IDS],
  options: OUTBOX_OPTIONS,
  examples: [
    {
      line: 'holdfast dead-letters replay -o ids | holdfast dead-letters resolve -',
      what: 'those that a replay has taken',
    },
  ],
  run: async (call) => {
    const ids = await letterIds(call)
    const count = await withOutbox(call, call.options.prefix, ({ deadLetters }) =>
      deadLetters.resolve(ids),
    )
    return report(call, 'resolved', count, ids.length)
  },
})

export const reject = command({
  name: 'dead-letters reject',
  summary: 'end a replay without success: the dead letters are pending again',
  args: [IDS],
  options: {
    ...OUTBOX_OPTIONS,
    reason: { type: 'string', value: '<text>', help: 'what went wrong' },
  },
  examples: [
    {
      line: 'holdfast dead-letters replay -o ids | holdfast dead-letters reject - --reason "still down"',
      what: 'those that a replay has taken',
    },
  ],
  run: async (call) => {
    const ids = await letterIds(call)
    const { prefix, reason } = call.options
    if (reason === undefined) throw new UsageError('--reason is missing', 'dead-letters reject')
    const count = await withOutbox(call, prefix, ({ deadLetters }) =>
      deadLetters.reject(ids, reason),
    )
    return report(call, 'rejected', count, ids.length)
  },
})

export const discard = command({
  name: 'dead-letters discard',
  summary: 'give up pending dead letters',
  args: [],
  options: { ...WHICH, ...ASK },
  examples: [
    { line: 'holdfast dead-letters discard --topic order-placed --yes', what: 'of a topic' },
  ],
  run: (call) =>
    overAll(call, 'Discard', 'pending', 'discarded', (letters, filter) => letters.discard(filter)),
})

export const cleanup = command({
  name: 'dead-letters cleanup',
  summary: 'remove dead letters that are resolved or discarded',
  args: [],
  options: { ...WHICH, ...ASK },
  examples: [{ line: 'holdfast dead-letters cleanup --yes', what: 'of all topics' }],
  run: (call) =>
    overAll(call, 'Remove', 'any', 'removed', (letters, filter) => letters.cleanup(filter)),
})

type Letters = Parameters<Parameters<typeof withOutbox>[2]>[0]['deadLetters']

async function overAll(
  call: Call<typeof WHICH & typeof ASK>,
  verb: string,
  status: 'pending' | 'any',
  done: string,
  work: (letters: Letters, filter: DeadLetterFilter) => Promise<number>,
): Promise<number> {
  const { terminal, options, signal } = call
  const filter = filterOf(options)
  const count = await withOutbox(call, options.prefix, async ({ deadLetters }) => {
    const kind =
      status === 'pending'
        ? `${await deadLetters.count(filter)} dead letters`
        : 'completed dead letters'
    if (!(await confirm(terminal, `${verb} ${kind}?`, { yes: options.yes, signal }))) {
      throw new CliError('nothing was done', EXIT.failed)
    }
    return work(deadLetters, filter)
  })
  return report(call, done, count, count)
}

async function letterIds({
  args,
  terminal,
}: Pick<Call, 'args' | 'terminal'>): Promise<readonly string[]> {
  const ids = await idsFrom(args, terminal.io)
  const wrong = ids.find((id) => !/^\d{1,15}$/.test(id))
  if (wrong === undefined) return ids
  throw new UsageError(`"${wrong}" is not the id of a dead letter`, 'dead-letters')
}

/** Ids that were not there, or not in a state for it, are reported as not found. */
function report(
  { terminal, format }: Pick<Call, 'terminal' | 'format'>,
  done: string,
  count: number,
  wanted: number,
): number {
  if (format === 'json') terminal.print(toJson({ [done]: count }))
  else terminal.note(`${done}: ${count} dead ${count === 1 ? 'letter' : 'letters'}`)
  if (count >= wanted) return EXIT.ok
  terminal.note(`${wanted - count} not found, or in another state`)
  return EXIT.notFound
}
