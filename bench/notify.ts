// What it costs and what it brings that processes tell each other what they did:
// `npm run bench -- notify`. With hints off, a process finds out by its tick.

import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import { connect, workflow } from '../src/index.ts'
import { postgres } from '../src/postgres/index.ts'
import { type CrossingSize, crossings, wallMs } from './between-processes.ts'
import type { EngineOptions } from './engine.ts'
import { judged, quantile } from './figures.ts'
import { holdfastOn, type Place, postgresPlace, sqlitePlace, withRuntime } from './holdfast.ts'
import type { Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { SHAPES } from './shapes.ts'
import type { Row } from './table.ts'

const DATABASE = 'bench_holdfast'

interface Size {
  /** How long an idle runtime is watched, after a pause in which it settles. */
  readonly idleMs: number
  readonly settleMs: number
  readonly crossing: CrossingSize
  /** Each of these may wait for a tick. */
  readonly crossingWithoutHints: CrossingSize
  readonly delayed: { readonly count: number; readonly afterMs: number; readonly everyMs: number }
  readonly listeners: number
  readonly plan: Plan
}

const FULL: Size = {
  idleMs: 60_000,
  settleMs: 12_000,
  crossing: { instances: 10, messagesEach: 50, everyMs: 20, lease: '30s' },
  crossingWithoutHints: { instances: 10, messagesEach: 2, everyMs: 997, lease: '30s' },
  delayed: { count: 100, afterMs: 2_000, everyMs: 50 },
  listeners: 200,
  plan: { inFlight: 100, ms: 3_000, warmUpMs: 700, samples: 0 },
}

const SMOKE: Size = {
  idleMs: 200,
  settleMs: 10,
  crossing: { instances: 2, messagesEach: 3, everyMs: 5, lease: '3s' },
  crossingWithoutHints: { instances: 1, messagesEach: 1, everyMs: 1, lease: '1s' },
  delayed: { count: 3, afterMs: 100, everyMs: 10 },
  listeners: 3,
  plan: { inFlight: 10, ms: 20, warmUpMs: 5, samples: 0 },
}

/** Statements, latencies and throughput, with hints and without. */
export async function benchNotify(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const server = await options.server()
  const withHints = (): Promise<Place> => postgresPlace(server)
  const withoutHints = async (): Promise<Place> => {
    const place = await postgresPlace(server)
    return { ...place, store: () => postgres({ url: place.url, notify: 'off' }) }
  }
  const idle = (makePlace: () => Promise<Place>): Promise<number> =>
    onFresh(makePlace, (place) => idleStatements(server, place, size))

  const idleOn = await idle(withHints)
  const idleOff = await idle(withoutHints)
  const crossedOn = await onFresh(withHints, (place) => crossings(place, size.crossing))
  const crossedOff = await onFresh(withoutHints, (place) =>
    crossings(place, size.crossingWithoutHints),
  )
  const crossedSqlite = await onFresh(sqlitePlace, (place) => crossings(place, size.crossing))
  const late = await onFresh(withHints, (place) => lateStarts(place, size.delayed))
  const lateSqlite = await onFresh(sqlitePlace, (place) => lateStarts(place, size.delayed))
  const share = await amongListeners(withHints, size)

  const message = 'message from another process to an idle runtime'
  const start = 'start that another process asked for in advance is late'
  return [
    judged('PostgreSQL, idle runtime: statements/s', { value: idleOn, digits: 2 }, { most: 0.2 }),
    { what: 'PostgreSQL, hints off, idle runtime: statements/s', value: idleOff.toFixed(2) },
    judged(`PostgreSQL, ${message}: p50`, ms(crossedOn, 0.5), { most: 2 }),
    judged(`PostgreSQL, ${message}: p99`, ms(crossedOn, 0.99), { most: 10 }),
    ...plain(`PostgreSQL, hints off, ${message}`, crossedOff),
    ...plain(`SQLite, ${message}`, crossedSqlite),
    judged(`PostgreSQL, ${start}: p99`, ms(late, 0.99), { most: 20 }),
    ...plain(`SQLite, ${start}`, lateSqlite),
    {
      what: `PostgreSQL, W1 with ${size.listeners} idle listeners beside none: ratio`,
      value: share.toFixed(2),
    },
  ]
}

async function onFresh<T>(
  makePlace: () => Promise<Place>,
  measure: (place: Place) => Promise<T>,
): Promise<T> {
  await using place = await makePlace()
  return await measure(place)
}

function ms(values: readonly number[], share: number): Parameters<typeof judged>[1] {
  return { value: quantile(values, share), digits: 1, unit: ' ms' }
}

function plain(what: string, values: readonly number[]): Row[] {
  return [0.5, 0.99].map((share) => ({
    what: `${what}: p${share * 100}`,
    value: `${quantile(values, share).toFixed(1)} ms`,
  }))
}

async function idleStatements(
  server: BenchServer,
  place: Place,
  { idleMs, settleMs }: Size,
): Promise<number> {
  return withRuntime(place.store(), SHAPES[0]!.workflow, async () => {
    await sleep(settleMs)
    const before = (await server.counters(DATABASE)).statements
    await sleep(idleMs)
    const after = (await server.counters(DATABASE)).statements
    if (before === undefined || after === undefined) return Number.POSITIVE_INFINITY
    return ((after - before) / idleMs) * 1_000
  })
}

/** By how many milliseconds starts are late whose time a client has set. */
async function lateStarts(
  place: Place,
  { count, afterMs, everyMs }: Size['delayed'],
): Promise<number[]> {
  const late: number[] = []
  const punctual = workflow<number, void>('punctual', async (dueMs, ctx) => {
    await ctx.step('begun', () => void late.push(wallMs() - dueMs))
  })
  return withRuntime(place.store(), punctual, async () => {
    await using client = connect(place.store())
    const started = []
    for (let i = 0; i < count; i++) {
      started.push(await client.start(punctual, wallMs() + afterMs, { delay: afterMs }))
      await sleep(everyMs)
    }
    await Promise.all(started.map((instance) => instance.result({ timeout: '1m' })))
    return late
  })
}

/** Throughput while others listen and hear nothing, as a share of that without them. */
async function amongListeners(
  makePlace: () => Promise<Place>,
  { listeners, plan }: Size,
): Promise<number> {
  const measure = async (): Promise<number> => {
    await using place = await makePlace()
    return (await holdfastOn(place, SHAPES[0]!, plan)).workflowsPerSecond
  }
  const alone = await measure()
  const { url } = await makePlace()
  const clients = Array.from({ length: listeners }, () => new Client({ connectionString: url }))
  try {
    for (const client of clients) {
      await client.connect()
      await client.query('listen bench_nothing')
    }
    return (await measure()) / alone
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}
