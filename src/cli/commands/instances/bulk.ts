// Does something to many instances: those with given ids, or all that match a filter.

import type { Client, Filter, InstanceInfo, Status } from '../../../index.ts'
import type { Call, OptionSpec } from '../../args/command.ts'
import { CliError, EXIT, UsageError } from '../../errors/cli-error.ts'
import { confirm } from '../../input/confirm.ts'
import { idsFrom, idValue } from '../../input/values.ts'
import { toJson } from '../../output/plain-json.ts'
import { printPages } from '../../output/print.ts'
import { Progress } from '../../output/progress.ts'
import { safeText } from '../../output/safe-text.ts'
import { PagedList } from '../../store/paged-list.ts'
import { withClient } from '../../store/with-client.ts'
import { FILTER_OPTIONS, filterOf, isFiltered, STATUSES } from './filters.ts'
import { INSTANCE_LIST } from './view.ts'

/** Options of commands for many instances. */
export const BULK_OPTIONS = {
  ...FILTER_OPTIONS,
  all: { type: 'boolean', help: 'all instances that the command can apply to' },
  'dry-run': { type: 'boolean', help: 'show which instances are meant, and do nothing' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask before applying it to a filter' },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** The argument of commands for many instances. */
export const IDS_ARGUMENT = {
  name: 'id',
  help: 'ids of instances, or - for those on standard input, one a line',
  optional: true,
  many: true,
} as const

/** What is done to instances. */
export interface Verb {
  /** In the imperative: `cancel`. */
  readonly name: string
  /** What it did, for the report: `cancellation requested`. */
  readonly done: string
  /** What an instance is in whose way it cannot be done: `has ended`. */
  readonly obstacle: string
  /** The states in which it can be done. */
  readonly statuses: readonly Status[]
  /** Whether nothing is left of an instance afterwards. */
  readonly removes?: true
  /** Applies it; returns how many were changed. */
  readonly apply: (client: Client, ids: readonly string[]) => Promise<number>
}

/** What became of it. */
interface Outcome {
  done: number
  readonly notFound: string[]
  /** Those that could not be changed. */
  readonly refused: string[]
}

const CHUNK = 100
/** So many ids are dealt with at a time, each by a call of its own, so that each can be reported. */
const AT_ONCE = 50

/** Runs a verb on what the command line says. */
export async function runBulk(call: Call<typeof BULK_OPTIONS>, verb: Verb): Promise<number> {
  const { args, options, terminal } = call
  const filter = filterOf(options)
  const isByFilter = options.all || isFiltered(filter)
  if (isByFilter && args.length > 0) {
    throw new UsageError('give ids or a filter, not both', `instances ${verb.name}`)
  }
  if (!isByFilter && args.length === 0) {
    throw new UsageError(
      'which instances? Give ids, - for ids on standard input, a filter, or --all',
      `instances ${verb.name}`,
    )
  }
  const ids = await idsFrom(args, terminal.io)
  // All of them before the first is changed: a wrong one would end the rest without a report.
  for (const id of ids) idValue(id, '<id>')
  return withClient(call, (client) =>
    isByFilter ? overFilter(call, verb, client, filter) : overIds(call, verb, client, ids),
  )
}

async function overIds(
  call: Call<typeof BULK_OPTIONS>,
  verb: Verb,
  client: Client,
  ids: readonly string[],
): Promise<number> {
  if (call.options['dry-run']) return showIds(call, client, ids)
  const outcome: Outcome = { done: 0, notFound: [], refused: [] }
  const progress = new Progress(call.terminal, verb.name, ids.length)
  try {
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      call.signal.throwIfAborted()
      const some = ids.slice(i, i + AT_ONCE)
      // Asked before a verb that leaves nothing to ask about.
      const before = verb.removes === true ? await existing(client, some) : undefined
      await Promise.all(some.map((id) => applyTo(client, verb, id, before, outcome)))
      progress.add(some.length)
    }
  } finally {
    progress.end()
  }
  return report(call, verb, outcome)
}

async function showIds(
  { terminal, format, signal }: Call<typeof BULK_OPTIONS>,
  client: Client,
  ids: readonly string[],
): Promise<number> {
  const missing: string[] = []
  const found = async function* (): AsyncGenerator<readonly InstanceInfo[], void, undefined> {
    for (let i = 0; i < ids.length; i += AT_ONCE) {
      signal.throwIfAborted()
      const some = ids.slice(i, i + AT_ONCE)
      const infos = await Promise.all(some.map((id) => client.get(id).info()))
      for (const [n, id] of some.entries()) if (infos[n] === undefined) missing.push(id)
      yield infos.filter((info) => info !== undefined)
    }
  }
  await printPages(terminal, format, found(), INSTANCE_LIST)
  for (const id of missing) terminal.note(`not found: ${safeText(id)}`)
  return missing.length > 0 ? EXIT.notFound : EXIT.ok
}

/** Applies a verb to an instance, and finds out why it did not apply. */
async function applyTo(
  client: Client,
  verb: Verb,
  id: string,
  before: ReadonlySet<string> | undefined,
  outcome: Outcome,
): Promise<void> {
  const done = await applyEach(client, verb, [id])
  outcome.done += done
  if (done > 0) return
  const isThere = (await client.get(id).info()) !== undefined
  if (isThere) outcome.refused.push(id)
  // Unless it was removed with its parent, just now.
  else if (before?.has(id) !== true) outcome.notFound.push(id)
}

async function existing(client: Client, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const infos = await Promise.all(ids.map((id) => client.get(id).info()))
  return new Set(ids.filter((_, i) => infos[i] !== undefined))
}

/** One that is in the way must not keep the others from being changed. */
async function applyEach(client: Client, verb: Verb, ids: readonly string[]): Promise<number> {
  try {
    return await verb.apply(client, ids)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ConflictError') throw error
    if (ids.length === 1) return 0
    let done = 0
    for (const id of ids) done += await applyEach(client, verb, [id])
    return done
  }
}

async function overFilter(
  call: Call<typeof BULK_OPTIONS>,
  verb: Verb,
  client: Client,
  given: Filter,
): Promise<number> {
  const { terminal, options, signal, format } = call
  const filter = { ...given, status: fitting(verb, given) }
  if (filter.status.length === 0) {
    const words = `${verb.name} applies to instances that are ${verb.statuses.join(', ')}`
    throw new UsageError(words, `instances ${verb.name}`)
  }
  if (options['dry-run']) {
    const found = await printPages(terminal, format, pages(client, filter), INSTANCE_LIST)
    terminal.note(`${verb.name} would apply to ${many(found)}`)
    return EXIT.ok
  }
  const total = await client.admin.count(filter)
  if (
    total > 0 &&
    !(await confirm(terminal, `${verb.name} ${many(total)}?`, { yes: options.yes, signal }))
  ) {
    throw new CliError('nothing was done', EXIT.failed)
  }
  const outcome: Outcome = { done: 0, notFound: [], refused: [] }
  const progress = new Progress(terminal, verb.name, total)
  try {
    for await (const page of pages(client, filter)) {
      for (let i = 0; i < page.length; i += CHUNK) {
        signal.throwIfAborted()
        const ids = page.slice(i, i + CHUNK).map(({ id }) => id)
        // Those that ended in the meantime are no mistake of the caller.
        outcome.done += await applyEach(client, verb, ids)
        progress.add(ids.length)
      }
    }
  } finally {
    progress.end()
  }
  return report(call, verb, outcome)
}

function fitting(verb: Verb, { status }: Filter): readonly Status[] {
  const wanted = status === undefined ? STATUSES : typeof status === 'string' ? [status] : status
  return wanted.filter((one) => verb.statuses.includes(one))
}

function pages(client: Client, filter: Filter): PagedList<InstanceInfo> {
  return new PagedList((page) => client.list(filter, page), { limit: Infinity })
}

function report(
  { terminal, format }: Call<typeof BULK_OPTIONS>,
  verb: Verb,
  { done, notFound, refused }: Outcome,
): number {
  if (format === 'json') terminal.print(toJson({ done, notFound, refused }))
  else terminal.note(`${verb.done}: ${many(done)}`)
  for (const id of notFound) terminal.note(`not found: ${safeText(id)}`)
  for (const id of refused) terminal.note(`${verb.obstacle}: ${safeText(id)}`)
  if (notFound.length > 0) return EXIT.notFound
  return refused.length > 0 ? EXIT.conflict : EXIT.ok
}

function many(count: number): string {
  return `${count} ${count === 1 ? 'instance' : 'instances'}`
}
