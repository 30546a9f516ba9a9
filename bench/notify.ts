// What hints between processes cost and what they bring: `npm run bench -- notify`. Without hints,
// a process finds work by its tick.

import { bareCrossings } from './bare-crossings.ts'
import { type Crossings, type CrossingSize, crossings } from './between-processes.ts'
import type { EngineOptions } from './engine.ts'
import { judged, median, quantile, rounded } from './figures.ts'
import { type Place, postgresPlace, sqlitePlace } from './holdfast.ts'
import { postgres } from '../build/postgres/index.js'
import { amongListeners, type ListenersSize } from './idle-listeners.ts'
import { type DelayedSize, lateSleeps, lateStarts } from './lateness.ts'
import { rateOfProcesses } from './many-processes.ts'
import type { Plan } from './peer.ts'
import { installPickupPeers, type PickupPlan } from './pickup-peers.ts'
import { type BenchServer, benchServer } from './postgres.ts'
import { idleStatements, underLoad } from './quiet-and-busy.ts'
import { SHAPES } from './shapes.ts'
import type { Row } from './table.ts'

interface Size {
  /** How long an idle runtime is watched, after a pause in which it settles. */
  readonly idle: { readonly idleMs: number; readonly settleMs: number }
  readonly crossing: CrossingSize
  /** Each of these may wait for a tick. */
  readonly crossingWithoutHints: CrossingSize
  readonly delayed: DelayedSize
  readonly detected: DelayedSize
  readonly detectedWithoutHints: DelayedSize
  readonly sleeps: DelayedSize
  readonly processes: { readonly count: number; readonly rounds: number; readonly plan: Plan }
  readonly listeners: ListenersSize
  readonly peers: PickupPlan | undefined
}

const FULL: Size = {
  idle: { idleMs: 60_000, settleMs: 12_000 },
  crossing: { instances: 10, messagesEach: 50, everyMs: 20, lease: '30s' },
  crossingWithoutHints: { instances: 10, messagesEach: 2, everyMs: 997, lease: '30s' },
  delayed: { count: 200, afterMs: 2_000, everyMs: 30, lease: '30s' },
  detected: { count: 200, afterMs: 0, everyMs: 20, lease: '30s' },
  detectedWithoutHints: { count: 20, afterMs: 0, everyMs: 997, lease: '30s' },
  sleeps: { count: 200, afterMs: 1_000, everyMs: 25, lease: '30s' },
  processes: {
    count: 4,
    rounds: 3,
    plan: { inFlight: 100, ms: 4_000, warmUpMs: 1_500, samples: 0 },
  },
  listeners: {
    listeners: 1_000,
    rounds: 3,
    plan: { inFlight: 100, ms: 3_000, warmUpMs: 700, samples: 0 },
    crossing: { instances: 10, messagesEach: 20, everyMs: 20, lease: '30s' },
  },
  peers: { settleMs: 5_000, idleMs: 30_000, messages: 200, everyMs: 50 },
}

const SMOKE: Size = {
  idle: { idleMs: 200, settleMs: 10 },
  crossing: { instances: 2, messagesEach: 3, everyMs: 5, lease: '3s' },
  crossingWithoutHints: { instances: 1, messagesEach: 1, everyMs: 1, lease: '1s' },
  delayed: { count: 3, afterMs: 100, everyMs: 10, lease: '30s' },
  detected: { count: 3, afterMs: 0, everyMs: 10, lease: '30s' },
  detectedWithoutHints: { count: 1, afterMs: 0, everyMs: 1, lease: '1s' },
  sleeps: { count: 3, afterMs: 20, everyMs: 10, lease: '30s' },
  processes: { count: 2, rounds: 1, plan: { inFlight: 8, ms: 20, warmUpMs: 5, samples: 0 } },
  listeners: {
    listeners: 3,
    rounds: 1,
    plan: { inFlight: 10, ms: 20, warmUpMs: 5, samples: 0 },
    crossing: { instances: 1, messagesEach: 2, everyMs: 5, lease: '3s' },
  },
  peers: undefined,
}

/** Statements, latencies and throughput, with hints and without, and beside others. */
export async function benchNotify(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const server = await options.server()
  const idle = await idleRows(server, size)
  const on = await onFresh(hinted(server), (place) => crossings(place, size.crossing))
  return [
    ...idle,
    ...(await messageRows(server, size, on)),
    ...(await startRows(server, size)),
    ...(await timerRows(server, size)),
    ...(await processRows(server, size)),
    ...(await listenerRows(size)),
    ...(await peerRows(server, size, on)),
  ]
}

type MakePlace = () => Promise<Place>

const hinted =
  (server: BenchServer): MakePlace =>
  () =>
    postgresPlace(server)

const unhinted =
  (server: BenchServer): MakePlace =>
  async () => {
    const place = await postgresPlace(server)
    return { ...place, store: () => postgres({ url: place.url, notify: 'off' }) }
  }

async function idleRows(server: BenchServer, { idle }: Size): Promise<Row[]> {
  const statements = (makePlace: MakePlace): Promise<number> =>
    onFresh(makePlace, (place) => idleStatements(server, place, idle))
  const on = await statements(hinted(server))
  const off = await statements(unhinted(server))
  return [
    judged('PostgreSQL, idle runtime: statements/s', { value: on, digits: 2 }, { most: 0.2 }),
    { what: 'PostgreSQL, hints off, idle runtime: statements/s', value: off.toFixed(2) },
  ]
}

async function messageRows(server: BenchServer, size: Size, on: Crossings): Promise<Row[]> {
  const { crossing, crossingWithoutHints } = size
  const bare = await bareCrossings(await server.database('bench_bare'), crossing)
  const off = await onFresh(unhinted(server), (place) => crossings(place, crossingWithoutHints))
  const busy = await onFresh(hinted(server), (place) => crossings(place, crossing, underLoad()))
  const file = await onFresh(sqlitePlace, (place) => crossings(place, crossing))
  const message = 'message from another process to'
  return [
    judged(`PostgreSQL, ${message} an idle runtime: p50`, ms(on.received, 0.5), { most: 2 }),
    judged(`PostgreSQL, ${message} an idle runtime: p99`, ms(on.received, 0.99), { most: 10 }),
    ...plain(`PostgreSQL, ${message} an idle runtime, until its first effect`, on.seen),
    ...plain('PostgreSQL, bare: insert, NOTIFY, LISTEN, select', bare.received),
    ...plain('PostgreSQL, bare: insert, NOTIFY, LISTEN, select, insert', bare.seen),
    ...plain(`PostgreSQL, hints off, ${message} an idle runtime`, off.seen),
    ...plain(`PostgreSQL, ${message} a runtime under full load`, busy.seen),
    ...plain(`SQLite, ${message} an idle runtime, until its first effect`, file.seen),
  ]
}

async function startRows(server: BenchServer, size: Size): Promise<Row[]> {
  const { detected, detectedWithoutHints } = size
  const on = await onFresh(hinted(server), (place) => lateStarts(place, detected))
  const off = await onFresh(unhinted(server), (place) => lateStarts(place, detectedWithoutHints))
  const start = 'start by a client until its first effect in an idle runtime'
  return [...plain(`PostgreSQL, ${start}`, on), ...plain(`PostgreSQL, hints off, ${start}`, off)]
}

async function timerRows(server: BenchServer, { delayed, sleeps }: Size): Promise<Row[]> {
  const late = await onFresh(hinted(server), (place) => lateStarts(place, delayed))
  const lateSqlite = await onFresh(sqlitePlace, (place) => lateStarts(place, delayed))
  const slept = await onFresh(hinted(server), (place) => lateSleeps(place, sleeps))
  const sleptSqlite = await onFresh(sqlitePlace, (place) => lateSleeps(place, sleeps))
  const start = 'start that another process asked for in advance is late'
  const timer = 'timer of an idle runtime is late'
  return [
    judged(`PostgreSQL, ${start}: p99`, ms(late, 0.99), { most: 20 }),
    ...plain(`SQLite, ${start}`, lateSqlite),
    ...plain(`PostgreSQL, ${timer}`, slept).slice(0, 1),
    judged(`PostgreSQL, ${timer}: p99`, ms(slept, 0.99), { most: 20 }),
    ...plain(`SQLite, ${timer}`, sleptSqlite),
  ]
}

async function processRows(server: BenchServer, { processes }: Size): Promise<Row[]> {
  const { count, rounds, plan } = processes
  const shape = SHAPES[1]!
  const shared = { ...plan, inFlight: Math.round(plan.inFlight / count) }
  const rates = { one: [] as number[], several: [] as number[], sharing: [] as number[] }
  const rate = (many: number, each: Plan): Promise<number> =>
    onFresh(hinted(server), (place) => rateOfProcesses(place, many, shape, each))
  for (let round = 0; round < rounds; round++) {
    rates.one.push(await rate(1, plan))
    rates.several.push(await rate(count, plan))
    rates.sharing.push(await rate(count, shared))
  }
  const [one, several, sharing] = [rates.one, rates.several, rates.sharing].map(median) as [
    number,
    number,
    number,
  ]
  const what = `PostgreSQL, ${shape.name}`
  return [
    { what: `${what}, one process, ${plan.inFlight} in flight: workflows/s`, value: rounded(one) },
    judged(
      `${what}, ${count} processes, ${plan.inFlight} in flight each: beside one`,
      { value: several / one, digits: 2, unit: 'x' },
      { least: 0.9 },
    ),
    {
      what: `${what}, ${count} processes, ${shared.inFlight} in flight each: beside one`,
      value: `${(sharing / one).toFixed(2)}x`,
    },
  ]
}

async function listenerRows({ listeners: size }: Size): Promise<Row[]> {
  // Each of them is a connection.
  await using server = await benchServer(size.listeners + 100)
  const among = await amongListeners(hinted(server), size)
  const ratio = (of: string, value: number): Row =>
    judged(
      `PostgreSQL, ${of} with ${size.listeners} idle listeners beside none: ratio`,
      { value, digits: 2 },
      { least: 0.95 },
    )
  return [
    ratio('W1', among.workflows),
    ratio('plain commits', among.commits),
    ...plain('PostgreSQL, no listeners, message between processes', among.crossedAlone),
    ...plain(
      `PostgreSQL, ${size.listeners} idle listeners, message between processes`,
      among.crossedAmong,
    ),
  ]
}

// The targets were set on a machine where graphile-worker took this long at the most.
const GRAPHILE_MS = { p50: 1.8, p99: 5.3 }

async function peerRows(
  server: BenchServer,
  { peers: plan }: Size,
  { received }: Crossings,
): Promise<Row[]> {
  if (plan === undefined) return [{ what: 'peers: skipped', value: 'a smoke run' }]
  const rows: Row[] = []
  for (const peer of installPickupPeers()) {
    if (typeof peer === 'string') {
      rows.push({ what: 'skipped', value: peer })
      continue
    }
    const measured = await peer.measure(server, plan).catch((error: unknown) => String(error))
    if (typeof measured === 'string') {
      rows.push({ what: `${peer.name}: failed`, value: measured })
      continue
    }
    const { idleStatements: idle, tookMs } = measured
    rows.push(
      { what: `${peer.name}, idle: statements/s`, value: idle.toFixed(2) },
      ...plain(`${peer.name}, work from another process until it begins`, tookMs),
    )
    if (peer.name.startsWith('graphile-worker')) {
      const beside = (share: number, most: number): Row =>
        judged(
          `PostgreSQL, message to an idle runtime beside ${peer.name}: p${share * 100}`,
          { value: quantile(received, share) / quantile(tookMs, share), digits: 2, unit: 'x' },
          { most },
        )
      rows.push(beside(0.5, 2 / GRAPHILE_MS.p50), beside(0.99, 10 / GRAPHILE_MS.p99))
    }
  }
  return rows
}

async function onFresh<T>(makePlace: MakePlace, measure: (place: Place) => Promise<T>): Promise<T> {
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
