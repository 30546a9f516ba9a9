// Who is measured by `npm run bench -- outbox`, each in a process of its own.

import { join } from 'node:path'
import { installJobs, JOBS_FOLDER, JOBS_NODE, jobsVersion } from './jobs.ts'
import { LineProcess } from './line-process.ts'
import type { BenchServer } from './postgres.ts'

const DATABASE = 'bench_outbox'
const ROOT = join(import.meta.dirname, '..')
const SCRIPTS = join(import.meta.dirname, 'peers')
// For starting and stopping.
const SPARE_MS = 60_000

/** How many enqueue and how many deliver at the same time, and how many messages a transaction has. */
export interface OutboxShape {
  readonly name: string
  readonly producers: number
  readonly consumers: number
  readonly perTransaction: number
}

/** How long each measurement takes. */
export interface OutboxPlan {
  readonly ms: number
  /** How long to wait afterwards for what was not delivered yet. */
  readonly drainMs: number
}

/** What one shape came to. */
export interface OutboxMeasured {
  readonly perSecond: number
  readonly enqueuedPerSecond: number
  /** Those of the producers included; undefined without `pg_stat_statements`. */
  readonly statements: number | undefined
  /** The share of all messages that were delivered in time. */
  readonly delivered: number
  /** Messages that came after a later one of the same key. */
  readonly disorder: number
}

/** A system that delivers messages, with given settings. */
export interface OutboxPeer {
  readonly name: string
  /** As it comes, or as it is fastest. */
  readonly settings: 'default' | 'best'
  load(server: BenchServer, shape: OutboxShape, plan: OutboxPlan): Promise<OutboxMeasured>
  /** Milliseconds from sending the commit to the handler, at one message per producer in `everyMs`. */
  paced(
    server: BenchServer,
    pace: { readonly producers: number; readonly everyMs: number },
    plan: OutboxPlan,
  ): Promise<readonly number[]>
}

/** The outbox of Holdfast: one message at a time, and in batches. With `isBeside`, on the Node of the others. */
export function holdfastPeers(isBeside: boolean): readonly OutboxPeer[] {
  const program = {
    script: 'outbox-holdfast.mjs',
    folder: ROOT,
    ...(isBeside && { node: JOBS_NODE }),
  }
  return [
    peer('Holdfast', { ...program, settings: 'default' }),
    peer('Holdfast, batches', { ...program, settings: 'best' }),
  ]
}

/** The others; a text says why they are missing. */
export function installOutboxPeers(): readonly OutboxPeer[] | string {
  const failed = installJobs()
  if (failed !== undefined) return failed
  return [
    ...both('graphile-worker', 'outbox-graphile.mjs'),
    ...both('pg-boss', 'outbox-pgboss.mjs'),
  ]
}

function both(name: string, script: string): OutboxPeer[] {
  const program = { script, folder: JOBS_FOLDER, node: JOBS_NODE }
  return (['default', 'best'] as const).map((settings) =>
    peer(`${name} ${jobsVersion(name)}, ${settings}`, { ...program, settings }),
  )
}

interface Program {
  readonly script: string
  readonly folder: string
  readonly settings: OutboxPeer['settings']
  readonly node?: string
}

function peer(name: string, { script, folder, settings, node }: Program): OutboxPeer {
  const start = async (
    server: BenchServer,
    consumers: number,
    { ms, drainMs }: OutboxPlan,
  ): Promise<LineProcess> => {
    const url = await server.freshDatabase(DATABASE)
    const started = new LineProcess({
      script: join(SCRIPTS, script),
      args: [folder, url, settings, String(consumers)],
      longestMs: ms + drainMs + SPARE_MS,
      ...(node !== undefined && { node }),
    })
    await started.until('ready')
    return started
  }
  return {
    name,
    settings,
    async load(server, shape, plan) {
      await using running = await start(server, shape.consumers, plan)
      const { producers, perTransaction } = shape
      const before = (await server.counters(DATABASE)).statements
      const answer = await running.ask(
        JSON.stringify({ task: 'load', producers, perTransaction, ...plan }),
      )
      const after = (await server.counters(DATABASE)).statements
      await running.end()
      const { enqueued, handled, seconds, enqueuedSeconds, disorder } = JSON.parse(answer) as Loaded
      return {
        perSecond: handled / seconds,
        enqueuedPerSecond: enqueued / enqueuedSeconds,
        statements:
          before === undefined || after === undefined ? undefined : (after - before) / handled,
        delivered: handled / enqueued,
        disorder,
      }
    },
    async paced(server, pace, plan) {
      await using running = await start(server, pace.producers, plan)
      const answer = await running.ask(JSON.stringify({ task: 'paced', ...pace, ...plan }))
      await running.end()
      return (JSON.parse(answer) as { took: number[] }).took
    },
  }
}

interface Loaded {
  readonly enqueued: number
  readonly handled: number
  readonly seconds: number
  readonly enqueuedSeconds: number
  readonly disorder: number
}
