// The outbox and the queues that the dashboard was given.

import { flag, list, number, oneOf } from '../base/options.ts'
import type { DeadLetter, Outbox } from '../outbox/index.ts'
import type { Queue, Stored } from '../queue/index.ts'
import type {
  ApiDeadLetter,
  ApiQueueMessage,
  DeadLettersAnswer,
  DiscardRequest,
  OutboxAnswer,
  QueueAnswer,
  QueueRequest,
  QueuesAnswer,
  ReachedAnswer,
  RequeueRequest,
} from './api.ts'
import { Failure } from './failure.ts'
import { plain } from './instance.ts'
import {
  OPTIONAL,
  optionalInteger,
  PAGE,
  pageOf,
  REQUIRED,
  text,
  withoutGaps,
} from './parameters.ts'
import {
  type FieldsOf,
  read,
  type ReadRoute,
  type Sources,
  write,
  type WriteRoute,
} from './route.ts'
import { show } from './show.ts'

const STATES = ['pending', 'reprocessing', 'resolved', 'discarded', 'any'] as const

/** Reads of outbox and queues. */
export const MESSAGE_READS: Readonly<Record<string, ReadRoute>> = {
  outbox: read(
    {},
    async (sources): Promise<OutboxAnswer> => {
      const outbox = outboxOf(sources)
      const partitions = await outbox.stats({ all: true })
      const topics = [...new Set(partitions.map(({ topic }) => topic))]
      const dead = await Promise.all(
        topics.map(async (topic) => ({ topic, count: await outbox.deadLetters.count({ topic }) })),
      )
      return { partitions, dead: dead.filter(({ count }) => count > 0) }
    },
    2_000,
  ),
  'outbox/dead-letters': read(
    {
      ...PAGE,
      topic: OPTIONAL,
      partition: optionalInteger(0),
      status: oneOf(STATES, 'pending'),
    },
    async (sources, given): Promise<DeadLettersAnswer> => {
      const { topic, partition, status } = given
      const filter = { ...withoutGaps({ topic, partition, status }), ...pageOf(given) }
      const { items, next } = await outboxOf(sources).deadLetters.list(filter)
      return { items: items.map(toDeadLetter), ...(next !== undefined && { next }) }
    },
    3_000,
  ),
  queues: read(
    {},
    async ({ queues }): Promise<QueuesAnswer> => ({
      items: [...queues].map(([name, { counts }]) => ({ name, counts: { ...counts } })),
    }),
    1_000,
  ),
  queue: read(
    {
      name: REQUIRED,
      dead: oneOf(['true', 'false'], 'false'),
      limit: PAGE.limit,
      after: optionalInteger(0),
    },
    async (sources, { name, dead, limit, after }): Promise<QueueAnswer> => {
      const queue = queueOf(sources, name)
      const found =
        dead === 'true'
          ? await queue.dead.list({ limit: limit + 1, ...withoutGaps({ after }) })
          : await storedAfter(queue, after, limit + 1)
      const items = found.slice(0, limit).map(toMessage)
      return {
        name,
        counts: { ...queue.counts },
        items,
        ...(found.length > limit && { next: items.at(-1)!.id }),
      }
    },
    2_000,
  ),
}

const LETTERS = {
  name: REQUIRED,
  ids: list(number({ min: 0, integer: true }, 0).check),
} satisfies FieldsOf<QueueRequest>

/** Writes to outbox and queues. */
export const MESSAGE_WRITES: Readonly<Record<string, WriteRoute>> = {
  'outbox/requeue': write(
    { ids: list(text) } satisfies FieldsOf<RequeueRequest>,
    async (sources, { ids }): Promise<ReachedAnswer> => ({
      count: await outboxOf(sources).deadLetters.requeue(ids),
    }),
  ),
  'outbox/discard': write(
    {
      topic: OPTIONAL,
      partition: optionalInteger(0),
      all: flag(false),
    } satisfies FieldsOf<DiscardRequest>,
    async (sources, { topic, partition, all }): Promise<ReachedAnswer> => {
      // Without this, a forgotten field would mean every dead letter.
      if (topic === undefined && !all) {
        throw new Failure('bad_request', 'discard: give a topic, or all: true')
      }
      const filter = withoutGaps({ topic, partition })
      return { count: await outboxOf(sources).deadLetters.discard(filter) }
    },
  ),
  'queue/retry': write(LETTERS, async (sources, { name, ids }): Promise<ReachedAnswer> => ({
    count: await queueOf(sources, name).dead.retry(ids),
  })),
  'queue/discard': write(LETTERS, async (sources, { name, ids }): Promise<ReachedAnswer> => ({
    count: await queueOf(sources, name).dead.discard(ids),
  })),
}

function outboxOf({ outbox }: Sources): Outbox {
  if (outbox !== undefined) return outbox
  throw new Failure('not_found', 'this dashboard was given no outbox: see its option outbox')
}

function queueOf({ queues }: Sources, name: string): Queue<unknown> {
  const queue = queues.get(name)
  if (queue !== undefined) return queue
  throw new Failure('not_found', `this dashboard was given no queue "${name}"`)
}

function toDeadLetter({ message, ...letter }: DeadLetter): ApiDeadLetter {
  const { payload, ...rest } = message
  return { ...plain(letter), message: { ...plain(rest), payload: show(payload, 'long') } }
}

async function storedAfter(
  queue: Queue<unknown>,
  after: number | undefined,
  limit: number,
): Promise<readonly Stored<unknown>[]> {
  const found: Stored<unknown>[] = []
  for await (const message of queue) {
    if (after !== undefined && message.id <= after) continue
    found.push(message)
    if (found.length >= limit) break
  }
  return found
}

function toMessage(message: Stored<unknown>): ApiQueueMessage {
  const { id, attempt, pushedAt, reason, error } = message
  return {
    id,
    attempt,
    pushedAt: pushedAt.toISOString(),
    ...(error === undefined ? { data: show(message.data, 'long') } : { error: error.message }),
    ...(reason !== undefined && { reason }),
  }
}
