// What the engine costs, on both stores: `npm run bench -- engine`.

import { monitorEventLoopDelay } from 'node:perf_hooks'

import { coldReplay } from './cold-replay.ts'
import { judged, median, quantile, rounded } from './figures.ts'
import {
  holdfastLatency,
  holdfastOn,
  holdfastOnPostgres,
  type Place,
  postgresPlace,
  sqlitePlace,
} from './holdfast.ts'
import { postgresFloor, sqliteFloor } from './floor.ts'
import { stepCost } from './long-history.ts'
import type { Measured, PerStep, Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { type Shape, SHAPES } from './shapes.ts'
import { sleepers } from './sleepers.ts'
import { slowSqlite } from './slow-fsync.ts'
import { printGrid, type Row } from './table.ts'

/** How big everything is. */
interface Size {
  readonly plan: Plan
  readonly rounds: number
  readonly longEvents: number
  readonly longRounds: number
  readonly replayEvents: number
  readonly replayRounds: number
  readonly sleepers: number
  /** Longer than the engine keeps an instance that is about to wake. */
  readonly dueInMs: number
  readonly dueEveryMs: number
}

const FULL: Size = {
  plan: { inFlight: 100, ms: 3_000, warmUpMs: 700, samples: 500 },
  rounds: 3,
  longEvents: 20_000,
  longRounds: 30,
  replayEvents: 10_000,
  replayRounds: 7,
  sleepers: 100_000,
  dueInMs: 8_000,
  dueEveryMs: 200,
}

const SMOKE: Size = {
  plan: { inFlight: 10, ms: 20, warmUpMs: 5, samples: 5 },
  rounds: 1,
  longEvents: 100,
  longRounds: 1,
  replayEvents: 100,
  replayRounds: 2,
  sleepers: 100,
  dueInMs: 300,
  dueEveryMs: 10,
}

const SLOWER_FSYNC_MS = 2

/** How a benchmark of the engine is run. */
export interface EngineOptions {
  readonly smoke: boolean
  /** The PostgreSQL server of this run. Starts when it is first asked for. */
  server(): Promise<BenchServer>
}

/** Prints the figures of each shape; returns those that have a target. */
export async function benchEngine(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const server = await options.server()
  return [
    ...(await onPostgres(server, size)),
    ...(await onSqlite(size)),
    ...(await onBoth(size, 'SQLite', () => sqlitePlace())),
    ...(await onBoth(size, 'PostgreSQL', () => postgresPlace(server))),
  ]
}

async function onPostgres(server: BenchServer, { plan, rounds }: Size): Promise<Row[]> {
  const measured = await shapes(rounds, (shape) => holdfastOnPostgres(server, shape, plan))
  await using place = await postgresPlace(server)
  const floor = await postgresFloor(server, plan.samples)
  const latencies = await holdfastLatency(place, SHAPES[0]!, plan)
  console.log(`\n${server.description}`)
  printGrid(`PostgreSQL, ${plan.inFlight} in flight, medians of ${rounds}`, grid(measured))
  const w10 = measured.get('W10')!.perStep!
  return [
    judged(
      'PostgreSQL W1: workflows/s',
      { value: measured.get('W1')!.workflowsPerSecond },
      { least: 8_000 },
    ),
    judged(
      'PostgreSQL W10: write transactions per step',
      { value: w10.writeTransactions, digits: 3 },
      { most: 0.1 },
    ),
    judged(
      'PostgreSQL W10: WAL per step',
      { value: w10.walBytes, unit: ' bytes' },
      // 0.7 of what DBOS writes.
      { most: 588 },
    ),
    judged(
      'PostgreSQL W1 one at a time: p50',
      { value: quantile(latencies, 0.5), digits: 2, unit: ' ms' },
      // Half of what DBOS takes.
      { most: 1.9 },
    ),
    {
      what: 'PostgreSQL W1 one at a time: p99',
      value: `${quantile(latencies, 0.99).toFixed(2)} ms`,
    },
    {
      what: 'PostgreSQL, two bare commits one at a time: p50',
      value: `${quantile(floor, 0.5).toFixed(2)} ms`,
    },
  ]
}

async function onSqlite({ plan, rounds }: Size): Promise<Row[]> {
  const measured = await shapes(rounds, async (shape) => {
    await using place = await sqlitePlace()
    return await holdfastOn(place, shape, plan)
  })
  printGrid(`SQLite, ${plan.inFlight} in flight, fsync, medians of ${rounds}`, grid(measured))
  await using place = await sqlitePlace()
  const floor = await sqliteFloor(plan.samples)
  const latencies = await holdfastLatency(place, SHAPES[0]!, plan)
  const stalls: number[] = []
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const { stall, rate } = await stallOnSlowDisk(plan)
    stalls.push(stall)
    rates.push(rate)
  }
  return [
    judged(
      'SQLite W10: steps/s, durable',
      { value: measured.get('W10')!.stepsPerSecond },
      { least: 40_000 },
    ),
    judged(
      'SQLite W1 one at a time: p50',
      { value: quantile(latencies, 0.5), digits: 2, unit: ' ms' },
      { most: 1 },
    ),
    { what: 'SQLite W1 one at a time: p99', value: `${quantile(latencies, 0.99).toFixed(2)} ms` },
    {
      what: 'SQLite, two bare commits in a thread, one at a time: p50',
      value: `${quantile(floor, 0.5).toFixed(2)} ms`,
    },
    judged(
      `SQLite W10, each fsync ${SLOWER_FSYNC_MS} ms longer: a 1 ms timer is late, p99`,
      { value: median(stalls), digits: 1, unit: ' ms' },
      { most: 10 },
    ),
    {
      what: `SQLite W10, each fsync ${SLOWER_FSYNC_MS} ms longer: steps/s`,
      value: rounded(median(rates)),
    },
  ]
}

/** How long the event loop is blocked while the disk is slow: the 99th percentile. */
async function stallOnSlowDisk(plan: Plan): Promise<{ stall: number; rate: number }> {
  await using place = await sqlitePlace((path) => slowSqlite(path, SLOWER_FSYNC_MS))
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const { stepsPerSecond } = await holdfastOn(place, SHAPES[2]!, plan)
  delay.disable()
  // What is measured is the time between two beats of a timer of 1 ms.
  return { stall: delay.percentile(99) / 1e6 - 1, rate: stepsPerSecond }
}

async function onBoth(
  size: Size,
  kind: Place['kind'],
  makePlace: () => Promise<Place>,
): Promise<Row[]> {
  const costs = await onFresh(makePlace, (place) =>
    stepCost(place, { events: size.longEvents, rounds: size.longRounds }),
  )
  const replays = await onFresh(makePlace, (place) =>
    coldReplay(place, { events: size.replayEvents, rounds: size.replayRounds }),
  )
  const slept = await onFresh(makePlace, (place) =>
    sleepers(place, { ...size, count: size.sleepers }),
  )
  const [first] = replays
  const withoutStore = ({ parse, replay }: (typeof replays)[number]): number => parse + replay
  const all = (took: (typeof replays)[number]): number => took.load + withoutStore(took)
  const events = rounded(size.replayEvents)
  const count = rounded(size.sleepers)
  return [
    { what: `${kind}: a step at history length 100`, value: `${costs.early.toFixed(3)} ms` },
    {
      what: `${kind}: a step at history length ${rounded(size.longEvents)}`,
      value: `${costs.late.toFixed(3)} ms`,
    },
    judged(
      `${kind}: the same as a ratio`,
      { value: costs.late / costs.early, digits: 2, unit: 'x' },
      { most: 1.2 },
    ),
    judged(
      `${kind}: cold replay of ${events} events, with load, first`,
      { value: all(first!), digits: 1, unit: ' ms' },
      { most: 100 },
    ),
    judged(
      `${kind}: cold replay of ${events} events, with load, median`,
      { value: median(replays.map(all)), digits: 1, unit: ' ms' },
      { most: 100 },
    ),
    judged(
      `${kind}: cold replay of ${events} events, without store, median`,
      { value: median(replays.map(withoutStore)), digits: 1, unit: ' ms' },
      { most: 100 },
    ),
    {
      what: `${kind}: put to sleep per second, of ${count}`,
      value: rounded(slept.startedPerSecond),
    },
    {
      what: `${kind}: heap more with ${count} asleep (1,000 copies are kept)`,
      value: `${(slept.grown / 1024 ** 2).toFixed(1)} MB`,
    },
    {
      what: `${kind}: heap per sleeping instance beyond the first 4,000`,
      value: `${rounded(slept.each)} bytes`,
      target: '0',
    },
    judged(
      `${kind}: the first one due, with ${count} asleep, is late`,
      { value: slept.late[0]!, unit: ' ms' },
      { most: 100 },
    ),
    {
      what: `${kind}: the latest of ${slept.late.length} due ones is late`,
      value: `${rounded(Math.max(...slept.late))} ms`,
    },
  ]
}

/** Makes a place and removes it when `use` is done. */
export async function onFresh<T>(
  makePlace: () => Promise<Place>,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  await using place = await makePlace()
  return await use(place)
}

/** Each shape in turn, several times: the medians. */
async function shapes(
  rounds: number,
  measure: (shape: Shape) => Promise<Measured>,
): Promise<Map<Shape['name'], Measured>> {
  const all = new Map<Shape['name'], Measured[]>(SHAPES.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const shape of SHAPES) all.get(shape.name)!.push(await measure(shape))
  }
  return new Map([...all].map(([name, measured]) => [name, medians(measured)]))
}

/** The median of each figure by itself. */
export function medians(measured: readonly Measured[]): Measured {
  const of = (figure: (one: Measured) => number): number => median(measured.map(figure))
  const [first] = measured
  return {
    workflowsPerSecond: of((one) => one.workflowsPerSecond),
    stepsPerSecond: of((one) => one.stepsPerSecond),
    cpu: of((one) => one.cpu),
    loop: first?.loop === undefined ? undefined : of((one) => one.loop!),
    perStep: first?.perStep && {
      statements: first.perStep.statements && of((one) => one.perStep!.statements!),
      writeTransactions: of((one) => one.perStep!.writeTransactions),
      walBytes: of((one) => one.perStep!.walBytes),
      fsyncs: of((one) => one.perStep!.fsyncs),
    },
  }
}

function grid(measured: ReadonlyMap<string, Measured>): string[][] {
  return [['', ...COLUMNS], ...[...measured].map(([name, figures]) => [name, ...cells(figures)])]
}

/** The meaning of `cells`. */
export const COLUMNS = [
  'workflows/s',
  'steps/s',
  'CPU',
  'loop busy',
  'statements/step',
  'write tx/step',
  'WAL bytes/step',
  'fsyncs/step',
]

/** The figures of one measurement, in columns. */
export function cells(measured: Measured): string[] {
  return [
    rounded(measured.workflowsPerSecond),
    rounded(measured.stepsPerSecond),
    share(measured.cpu),
    share(measured.loop),
    ...serverCells(measured.perStep),
  ]
}

function share(value: number | undefined): string {
  return value === undefined ? '-' : `${rounded(value * 100)} %`
}

function serverCells(perStep: PerStep | undefined): string[] {
  if (perStep === undefined) return ['-', '-', '-', '-']
  const { statements, writeTransactions, walBytes, fsyncs } = perStep
  return [
    statements === undefined ? '-' : statements.toFixed(3),
    writeTransactions.toFixed(3),
    rounded(walBytes),
    fsyncs.toFixed(3),
  ]
}
