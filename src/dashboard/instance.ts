// One instance: what it is, what it did, and what can be done to it.

import { oneOf, option } from '../base/options.ts'
import { channel, type HistoryEvent, type InstanceInfo } from '../index.ts'
import type {
  ApiEvent,
  Detail,
  ForkRequest,
  HistoryAnswer,
  IdAnswer,
  InstanceAnswer,
  Json,
  OutputAnswer,
  SendRequest,
  StateAnswer,
  TreeAnswer,
  Value,
} from './api.ts'
import { Failure } from './failure.ts'
import { toItem } from './instances.ts'
import { OPTIONAL, optionalInteger, REQUIRED, integer, withoutGaps } from './parameters.ts'
import {
  type FieldsOf,
  read,
  type ReadRoute,
  type Sources,
  write,
  type WriteRoute,
} from './route.ts'
import { show } from './show.ts'

const DETAILS = ['none', 'short', 'long', 'full'] as const satisfies readonly Detail[]
const MAX_EVENTS = 5_000
const MAX_SEQ = 2 ** 31 - 2
const MAX_TASKS = 100

const EXECUTION = { id: REQUIRED, execution: optionalInteger(1) }

/** Reads of one instance. */
export const INSTANCE_READS: Readonly<Record<string, ReadRoute>> = {
  instance: read(
    { id: REQUIRED },
    async ({ client }, { id }): Promise<InstanceAnswer> => {
      const info = await existing(client.get(id).info(), id)
      const [executions, usage, tasks] = await Promise.all([
        client.admin.executions(id),
        client.admin.usage(id),
        client.admin.tasks({ instanceId: id }, { limit: MAX_TASKS }),
      ])
      const { output } = info
      return {
        instance: {
          ...toItem(info),
          ...(output !== undefined && { output: show(output, 'long') }),
        },
        executions: plain(executions),
        usage,
        tasks: plain(tasks.items),
      }
    },
    1_000,
  ),
  'instance/tree': read(
    { id: REQUIRED },
    async ({ client }, { id }): Promise<TreeAnswer> => ({
      items: (await client.admin.tree(id, { from: 'root' })).map(toItem),
    }),
    2_000,
  ),
  'instance/history': read(
    {
      ...EXECUTION,
      after: integer(0, MAX_SEQ, 0),
      limit: integer(1, MAX_EVENTS, 1_000),
      values: oneOf(DETAILS, 'short'),
    },
    async ({ client }, { id, execution, after, limit, values }): Promise<HistoryAnswer> => {
      const events = await eventsOf(client, id, { execution, after, limit: limit + 1 })
      const items = events.slice(0, limit).map((event) => toEvent(event, values))
      return {
        execution: execution ?? (await latestExecution(client, id)),
        items,
        ...(events.length > limit && { next: items.at(-1)!.seq }),
      }
    },
  ),
  'instance/event': read(
    { ...EXECUTION, seq: integer(1, MAX_SEQ, 1), values: oneOf(DETAILS, 'full') },
    async ({ client }, { id, execution, seq, values }): Promise<ApiEvent> => {
      const [event] = await eventsOf(client, id, { execution, after: seq - 1, limit: 1 })
      if (event !== undefined) return toEvent(event, values)
      throw new Failure('not_found', `instance "${id}" has no event ${seq}`)
    },
  ),
  'instance/state': read(
    { ...EXECUTION, at: optionalInteger(1) },
    async ({ client }, { id, execution, at }): Promise<StateAnswer> => {
      const events = await eventsOf(client, id, { execution, after: 0, limit: at ?? Infinity })
      return {
        execution: execution ?? (await latestExecution(client, id)),
        at: events.at(-1)?.seq ?? 0,
        ...stateAfter(events),
      }
    },
  ),
  'instance/output': read(
    { id: REQUIRED, values: oneOf(['short', 'long', 'full'], 'full') },
    async ({ client }, { id, values }): Promise<OutputAnswer> => {
      const { output, progress, error } = await existing(client.get(id).info(), id)
      return {
        ...(output !== undefined && { output: show(output, values) }),
        ...(progress !== undefined && { progress: show(progress, values) }),
        ...(error !== undefined && { error }),
      }
    },
  ),
  'instance/export': read(EXECUTION, ({ client }, { id, execution }) =>
    client.get(id).export(withoutGaps({ execution })),
  ),
}

/** Writes to one instance. */
export const INSTANCE_WRITES: Readonly<Record<string, WriteRoute>> = {
  'instance/send': write(
    {
      id: REQUIRED,
      channel: REQUIRED,
      data: option((value) => value, undefined),
      dedupeKey: OPTIONAL,
    } satisfies FieldsOf<SendRequest>,
    async ({ client }, { id, channel: name, data, dedupeKey }) => {
      // Its schema is not known here: the workflow receives what was sent.
      await client.get(id).send(channel<unknown>(name), data, withoutGaps({ dedupeKey }))
      return {}
    },
  ),
  'instance/fork': write(
    {
      id: REQUIRED,
      at: optionalInteger(1),
      newId: OPTIONAL,
    } satisfies FieldsOf<ForkRequest>,
    async ({ client }, { id, at, newId }): Promise<IdAnswer> => {
      if (at === undefined) throw new Failure('bad_request', 'fork: at is missing')
      const forked = await client.get(id).fork({ at, ...withoutGaps({ id: newId }) })
      return { id: forked.id }
    },
  ),
}

/** Dates become texts when the answer is written; the types say so before. */
export function plain<T>(value: T): Json<T> {
  return value as Json<T>
}

async function existing(
  info: Promise<InstanceInfo | undefined>,
  id: string,
): Promise<InstanceInfo> {
  const found = await info
  if (found !== undefined) return found
  throw new Failure('not_found', `there is no instance "${id}"; was it removed by its retention?`)
}

async function latestExecution(client: Sources['client'], id: string): Promise<number> {
  const executions = await client.admin.executions(id)
  return executions.at(-1)?.execution ?? 1
}

interface EventPage {
  readonly execution: number | undefined
  readonly after: number
  readonly limit: number
}

async function eventsOf(
  client: Sources['client'],
  id: string,
  { execution, after, limit }: EventPage,
): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = []
  for await (const event of client.get(id).history({ after, ...withoutGaps({ execution }) })) {
    events.push(event)
    if (events.length >= limit) break
  }
  return events
}

/** What an event is about, in the order in which its fields say it best. */
const NAMES = ['name', 'workflow', 'key', 'change', 'status'] as const

function toEvent({ seq, type, at, data }: HistoryEvent, values: Detail): ApiEvent {
  const fields = data as Readonly<Record<string, unknown>>
  const name = NAMES.map((field) => fields[field]).find((found) => typeof found === 'string')
  const { command } = fields
  return {
    seq,
    type,
    at: at.toISOString(),
    ...(typeof command === 'number' && { command }),
    ...(typeof name === 'string' && { name }),
    ...(values !== 'none' && { data: show(data, values) }),
  }
}

/** The state and the progress of an instance after these events of one execution. */
function stateAfter(events: readonly HistoryEvent[]): Pick<StateAnswer, 'items' | 'progress'> {
  const state = new Map<string, { readonly value: unknown; readonly at: Date }>()
  let progress: Value | undefined
  for (const { type, at, data } of events) {
    const { key, value, state: kept } = data as { key: string; value: unknown; state?: object }
    if (type === 'set') state.set(key, { value, at })
    if (type === 'unset') state.delete(key)
    if (type === 'cleared') state.clear()
    if (type === 'progress') progress = show(value, 'long')
    if (type !== 'started') continue
    for (const [name, said] of Object.entries(kept ?? {})) {
      state.set(name, said as { value: unknown; at: Date })
    }
  }
  const items = [...state].map(([key, { value, at }]) => ({
    key,
    value: show(value, 'long'),
    at: at.toISOString(),
  }))
  return { items, ...(progress !== undefined && { progress }) }
}
