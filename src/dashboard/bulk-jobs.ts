// Changes of many instances, processed in the background, so that a page can show how far they are and
// stop them. They are remembered by this process alone: what they have not reached when it ends stays as
// it is, and the same filter finds it again.

import { randomUUID } from 'node:crypto'
import { sleep, type Clock } from '../base/time/clock.ts'
import type { Client, Filter, Status } from '../index.ts'
import type { BulkJob, BulkVerb } from './api.ts'
import { Failure, failureOf } from './failure.ts'
import { ENDED, UNFINISHED } from './parameters.ts'

/** What to do, and to which instances. */
export interface BulkWork {
  readonly verb: BulkVerb
  readonly which: readonly string[] | Filter
  readonly reason: string | undefined
  /** Of `delete`. */
  readonly force: boolean
}

const MAX_RUNNING = 4
const MAX_KEPT = 50
const MAX_IDS = 10_000
/** How many instances are read at a time, and how many changed. */
const PAGE = 500
const CHUNK = 50
/** How many of those that could not be changed are named. */
const MAX_NAMED = 20

type Progress = { -readonly [K in keyof BulkJob]: BulkJob[K] } & {
  refused: { id: string; message: string }[]
}

interface Job {
  readonly progress: Progress
  readonly stop: AbortController
  readonly ended: Promise<void>
}

/** The bulk changes that a dashboard has begun. */
export class BulkJobs {
  readonly #client: Client
  readonly #clock: Clock
  readonly #failed: (failure: Failure) => void
  readonly #jobs = new Map<string, Job>()

  /** @param failed called with the reason when a job ends early: what its progress says is for the caller */
  constructor(client: Client, clock: Clock, failed: (failure: Failure) => void) {
    this.#client = client
    this.#clock = clock
    this.#failed = failed
  }

  /** All that are remembered, the latest first. */
  list(): readonly BulkJob[] {
    return [...this.#jobs.values()].map(({ progress }) => snapshot(progress)).toReversed()
  }

  get(id: string): BulkJob {
    return snapshot(this.#job(id).progress)
  }

  /** Begins to work; returns the id of the job. */
  start(work: BulkWork): string {
    const running = [...this.#jobs.values()].filter(({ progress }) => progress.state === 'running')
    if (running.length >= MAX_RUNNING) {
      throw new Failure('conflict', `${MAX_RUNNING} bulk changes are running: wait, or stop one`)
    }
    if (isIds(work.which) && work.which.length > MAX_IDS) {
      throw new Failure('bad_request', `ids: at most ${MAX_IDS}; give a filter for more`)
    }
    const progress: Progress = {
      job: randomUUID(),
      verb: work.verb,
      state: 'running',
      startedAt: this.#clock.date().toISOString(),
      seen: 0,
      changed: 0,
      refused: [],
    }
    const stop = new AbortController()
    const ended = this.#run(work, progress, stop.signal)
    this.#jobs.set(progress.job, { progress, stop, ended })
    for (const [id, { progress: old }] of this.#jobs) {
      if (this.#jobs.size <= MAX_KEPT) break
      if (old.state !== 'running') this.#jobs.delete(id)
    }
    return progress.job
  }

  /** How far a job is when it has ended, or after a time. */
  async settled(id: string, ms: number): Promise<BulkJob> {
    const { progress, ended } = this.#job(id)
    const over = new AbortController()
    await Promise.race([ended, sleep(this.#clock, ms, over.signal).catch(() => {})])
    over.abort()
    return snapshot(progress)
  }

  /** Stops a job; what it has changed stays changed. */
  async stop(id: string): Promise<BulkJob> {
    const { progress, stop, ended } = this.#job(id)
    stop.abort()
    await ended
    return snapshot(progress)
  }

  /** Stops all of them. */
  async close(): Promise<void> {
    await Promise.all([...this.#jobs.keys()].map((id) => this.stop(id)))
  }

  #job(id: string): Job {
    const job = this.#jobs.get(id)
    if (job !== undefined) return job
    throw new Failure('not_found', 'there is no such bulk change: it is of another process, or old')
  }

  async #run(work: BulkWork, progress: Progress, stop: AbortSignal): Promise<void> {
    try {
      for await (const ids of this.#pages(work, progress)) {
        for (let i = 0; i < ids.length; i += CHUNK) {
          if (stop.aborted) break
          const chunk = ids.slice(i, i + CHUNK)
          await this.#applyTo(work, chunk, progress)
          progress.seen += chunk.length
        }
        if (stop.aborted) break
      }
      progress.state = stop.aborted ? 'stopped' : 'done'
    } catch (error) {
      const failure = failureOf(error)
      progress.state = 'failed'
      progress.error = failure.message
      this.#failed(failure)
    }
    progress.finishedAt = this.#clock.date().toISOString()
  }

  async *#pages({ verb, which, force }: BulkWork, progress: Progress) {
    if (isIds(which)) {
      const ids = [...new Set(which)]
      progress.total = ids.length
      yield ids
      return
    }
    const status = reachable(verb, force, which)
    progress.total = await countReachable(this.#client, verb, force, which)
    if (progress.total === 0) return
    let after: string | undefined
    do {
      const page = await this.#client.list(
        { ...which, status },
        { limit: PAGE, ...(after !== undefined && { after }) },
      )
      yield page.items.map(({ id }) => id)
      after = page.next
    } while (after !== undefined)
  }

  /** One that is in the way must not keep the others from being changed. */
  async #applyTo(work: BulkWork, ids: readonly string[], progress: Progress): Promise<void> {
    try {
      progress.changed += await this.#apply(work, ids)
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ConflictError') throw error
      if (ids.length > 1) {
        for (const id of ids) await this.#applyTo(work, [id], progress)
      } else if (progress.refused.length < MAX_NAMED) {
        progress.refused.push({ id: ids[0]!, message: error.message })
      }
    }
  }

  #apply({ verb, reason, force }: BulkWork, ids: readonly string[]): Promise<number> {
    const { admin } = this.#client
    if (verb === 'delete') return admin.delete(ids, { force })
    return verb === 'resume' ? admin.resume(ids) : admin[verb](ids, reason)
  }
}

/** How many instances a verb would change, of those that match a filter. */
export async function countReachable(
  client: Client,
  verb: BulkVerb,
  force: boolean,
  filter: Filter,
): Promise<number> {
  const status = reachable(verb, force, filter)
  return status.length === 0 ? 0 : client.admin.count({ ...filter, status })
}

/** The statuses that a filter means and that a verb can change. */
function reachable(verb: BulkVerb, force: boolean, { status }: Filter): readonly Status[] {
  const wanted = status === undefined ? undefined : typeof status === 'string' ? [status] : status
  const able =
    verb === 'resume'
      ? (['suspended'] as const)
      : verb !== 'delete'
        ? UNFINISHED
        : force
          ? [...UNFINISHED, ...ENDED]
          : ENDED
  return wanted === undefined ? able : able.filter((one) => wanted.includes(one))
}

function isIds(which: readonly string[] | Filter): which is readonly string[] {
  return Array.isArray(which)
}

function snapshot(progress: Progress): BulkJob {
  return { ...progress, refused: [...progress.refused] }
}
