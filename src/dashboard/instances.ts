// Lists of instances, and what is done to many of them at once.

import { flag, list, type Option, option } from '../base/options.ts'
import { shorten } from '../base/shorten.ts'
import type { InstanceInfo } from '../index.ts'
import type {
  BulkJob,
  BulksAnswer,
  BulkVerb,
  CountAnswer,
  InstanceItem,
  InstancesAnswer,
  JobRequest,
  ReachAnswer,
} from './api.ts'
import { countReachable } from './bulk-jobs.ts'
import { Failure } from './failure.ts'
import { FILTER, filterOf, OPTIONAL, PAGE, pageOf, REQUIRED, text, integer } from './parameters.ts'
import { type FieldsOf, read, type ReadRoute, write, type WriteRoute } from './route.ts'
import { show } from './show.ts'
import { isPlainObject } from '../base/plain-object.ts'
import { describe } from '../base/describe.ts'
import { oneOf, resolveOptions } from '../base/options.ts'

/** Of errors in lists: a message may be of any length. */
const MAX_MESSAGE = 2_000

/** An instance as a list shows it. */
export function toItem(info: InstanceInfo): InstanceItem {
  const { progress, output: _, error, createdAt, updatedAt, finishedAt, ...rest } = info
  return {
    ...rest,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    ...(finishedAt !== undefined && { finishedAt: finishedAt.toISOString() }),
    ...(error !== undefined && {
      error: { name: error.name, message: shorten(error.message, MAX_MESSAGE) },
    }),
    ...(progress !== undefined && { progress: show(progress, 'short') }),
  }
}

/** How many instances are counted, at most, and how many at a time. */
const MAX_COUNT = 10_000
const COUNTED = 1_000

const WORK_MS = 1_000

const VERBS = ['cancel', 'terminate', 'suspend', 'resume', 'delete'] as const satisfies BulkVerb[]

/** Reads of many instances. */
export const INSTANCE_LISTS: Readonly<Record<string, ReadRoute>> = {
  instances: read(
    { ...FILTER, ...PAGE, order: oneOf(['newest', 'oldest'], 'newest') },
    async ({ client }, { order, ...given }): Promise<InstancesAnswer> => {
      const { items, next } = await client.list(filterOf(given), { ...pageOf(given), order })
      return { items: items.map(toItem), ...(next !== undefined && { next }) }
    },
    1_000,
  ),
  'instances/count': read(
    { ...FILTER, limit: integer(1, 100_000, MAX_COUNT) },
    async ({ client }, { limit, ...given }): Promise<CountAnswer> => {
      let count = 0
      let after: string | undefined
      do {
        const page = await client.list(filterOf(given), {
          limit: Math.min(COUNTED, limit - count),
          ...(after !== undefined && { after }),
        })
        count += page.items.length
        after = page.next
      } while (after !== undefined && count < limit)
      return { count, isMore: after !== undefined }
    },
    10_000,
  ),
  'instances/reach': read(
    { ...FILTER, verb: option(oneOf(VERBS, 'cancel').check, undefined) },
    async ({ client }, { verb, ...given }): Promise<ReachAnswer> => {
      if (verb === undefined) throw new Failure('bad_request', 'instances/reach: verb is missing')
      return { count: await countReachable(client, verb, false, filterOf(given)) }
    },
  ),
  bulks: read({}, async ({ jobs }): Promise<BulksAnswer> => ({ items: jobs.list() }), 1_000),
  bulk: read({ job: REQUIRED }, async ({ jobs }, { job }): Promise<BulkJob> => jobs.get(job), 250),
}

const ids: Option<readonly string[] | undefined> = option(list(text).check, undefined)

function bulk(verb: BulkVerb): WriteRoute {
  return write(
    {
      ids,
      filter: option(checkFilter, undefined),
      reason: OPTIONAL,
      force: flag(false),
    },
    async ({ jobs }, given): Promise<BulkJob> => {
      // Without this, a forgotten field would mean every instance.
      if ((given.ids === undefined) === (given.filter === undefined)) {
        throw new Failure('bad_request', `${verb}: give either ids or a filter`)
      }
      const { reason, force } = given
      const job = jobs.start({ verb, which: given.ids ?? given.filter!, reason, force })
      return jobs.settled(job, WORK_MS)
    },
  )
}

function checkFilter(value: unknown, what: string) {
  if (!isPlainObject(value)) {
    throw new TypeError(`${what} must be an object, got ${describe(value)}`)
  }
  return filterOf(resolveOptions(what, value, FILTER))
}

/** Writes to many instances. */
export const INSTANCE_VERBS: Readonly<Record<string, WriteRoute>> = {
  ...Object.fromEntries(VERBS.map((verb) => [`instances/${verb}`, bulk(verb)])),
  'bulk/stop': write(
    { job: REQUIRED } satisfies FieldsOf<JobRequest>,
    async ({ jobs }, { job }): Promise<BulkJob> => jobs.stop(job),
  ),
}
