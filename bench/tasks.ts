// What it costs that another process runs an activity, on both stores, beside activities at the owner
// and beside queues of DBOS: `npm run bench -- tasks`.

import { type DbosQueues, installDbosQueues } from './dbos-queues.ts'
import { type TasksMeasured, taskLatency, tasksOn, tasksOnPostgres } from './elsewhere.ts'
import { cells, COLUMNS, type EngineOptions, medians, onFresh } from './engine.ts'
import { median, quantile, rounded } from './figures.ts'
import { holdfastOn, type Place, postgresPlace, sqlitePlace } from './holdfast.ts'
import type { Measured, Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { type Shape, SHAPES } from './shapes.ts'
import { printGrid, type Row } from './table.ts'

interface Size {
  readonly plan: Plan
  readonly rounds: number
  /** For peers whose workflows take as long as two polls. */
  readonly samplesOfSlowPolls: number
}

const FULL: Size = {
  plan: { inFlight: 100, ms: 3_000, warmUpMs: 700, samples: 300 },
  rounds: 3,
  samplesOfSlowPolls: 10,
}
const SMOKE: Size = {
  plan: { inFlight: 10, ms: 20, warmUpMs: 5, samples: 5 },
  rounds: 1,
  samplesOfSlowPolls: 1,
}

/** DBOS looks for work and for results from time to time: by default, and as often as pays. */
const POLLS_MS = [1_000, 10]

const [W1, , W10] = SHAPES as readonly [Shape, Shape, Shape]

/** A store as this benchmark needs it. */
interface Bed {
  readonly kind: Place['kind']
  readonly makePlace: () => Promise<Place>
  readonly measureTasks: (tasks: number) => Promise<TasksMeasured>
}

/** All that was measured on one store, round by round. */
interface Samples {
  readonly one: TasksMeasured[]
  readonly ten: TasksMeasured[]
  /** The same workflows with activities at their owner. */
  readonly oneHere: Measured[]
  readonly tenHere: Measured[]
  readonly latencies: number[]
}

/** Prints every figure; returns those that matter, and the ratios. */
export async function benchTasks(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const dbos = options.smoke ? 'it is left out of a smoke run' : installDbosQueues()
  const server = await options.server()
  const { plan, rounds } = size
  const beds: Bed[] = [
    {
      kind: 'PostgreSQL',
      makePlace: () => postgresPlace(server),
      measureTasks: (tasks) => tasksOnPostgres(server, tasks, plan),
    },
    {
      kind: 'SQLite',
      makePlace: () => sqlitePlace(),
      measureTasks: (tasks) => onFresh(sqlitePlace, (place) => tasksOn(place, tasks, plan)),
    },
  ]
  const all = new Map(beds.map((bed): [Bed, Samples] => [bed, nothingTaken()]))
  for (let round = 0; round < rounds; round++) {
    for (const [bed, taken] of all) await takeRound(bed, taken, plan)
  }

  console.log(`\n${server.description}`)
  printGrid(
    `TASK: activities in another process, ${plan.inFlight} in flight, medians of ${rounds}; ` +
      'a step is a task',
    [
      ['', ...COLUMNS, 'CPU of the other'],
      ...[...all].flatMap(([{ kind }, { one, ten }]) => [
        [`${kind} ${W1.name}`, ...taskCells(one)],
        [`${kind} ${W10.name}`, ...taskCells(ten)],
      ]),
    ],
  )
  const rows = [...all].flatMap(([{ kind }, taken]) => rowsOf(kind, taken, plan))
  if (typeof dbos === 'string') return [...rows, { what: 'DBOS: skipped', value: dbos }]
  return [...rows, ...(await dbosRows(server, dbos, all.get(beds[0]!)!, size))]
}

function nothingTaken(): Samples {
  return { one: [], ten: [], oneHere: [], tenHere: [], latencies: [] }
}

async function takeRound(bed: Bed, taken: Samples, plan: Plan): Promise<void> {
  const { makePlace, measureTasks } = bed
  taken.one.push(await measureTasks(W1.steps))
  taken.oneHere.push(await onFresh(makePlace, (place) => holdfastOn(place, W1, plan)))
  taken.ten.push(await measureTasks(W10.steps))
  taken.tenHere.push(await onFresh(makePlace, (place) => holdfastOn(place, W10, plan)))
  taken.latencies.push(...(await onFresh(makePlace, (place) => taskLatency(place, plan))))
}

function taskCells(measured: readonly TasksMeasured[]): string[] {
  const cpu = median(measured.map(({ cpuElsewhere }) => cpuElsewhere))
  return [...cells(medians(measured)), `${rounded(cpu * 100)} %`]
}

function rowsOf(kind: Place['kind'], taken: Samples, { inFlight }: Plan): Row[] {
  const beside = (there: readonly Measured[], here: readonly Measured[]): string =>
    (perSecond(there) / perSecond(here)).toFixed(2)
  const what = `${kind} TASK`
  return [
    { what: `${what} W1, ${inFlight} in flight: tasks/s`, value: rounded(perSecond(taken.one)) },
    { what: `${what} W10, ${inFlight} in flight: tasks/s`, value: rounded(perSecond(taken.ten)) },
    { what: `${what} W1: beside the owner's own`, value: `${beside(taken.one, taken.oneHere)}x` },
    { what: `${what} W10: beside the owner's own`, value: `${beside(taken.ten, taken.tenHere)}x` },
    ...latencyRows(`${what} W1 one at a time`, taken.latencies),
  ]
}

/** Prints what queues of DBOS come to; returns the ratios. */
async function dbosRows(
  server: BenchServer,
  dbos: DbosQueues,
  ours: Samples,
  { plan, rounds, samplesOfSlowPolls }: Size,
): Promise<Row[]> {
  const polled = POLLS_MS.map((pollMs) => ({
    what: `DBOS ${dbos.version}, a look each ${rounded(pollMs)} ms`,
    plan: { ...plan, pollMs, samples: pollMs > 100 ? samplesOfSlowPolls : plan.samples },
    loads: [] as Measured[],
    latencies: [] as number[],
  }))
  for (let round = 0; round < rounds; round++) {
    for (const { plan: looks, loads, latencies } of polled) {
      loads.push(await dbos.taskLoad(server, looks))
      latencies.push(...(await dbos.taskLatency(server, looks)))
    }
  }
  printGrid(
    `TASK W1 beside a workflow on a queue that another process takes, ${plan.inFlight} in flight, ` +
      `medians of ${rounds}`,
    [
      ['', ...COLUMNS],
      ['Holdfast', ...cells(medians(ours.one))],
      ...polled.map(({ what, loads }) => [what, ...cells(medians(loads))]),
    ],
  )
  return polled.flatMap(({ what, loads, latencies }) => [
    ...latencyRows(`${what}, one at a time`, latencies),
    {
      what: `TASK W1: Holdfast beside ${what}, tasks/s`,
      value: `${(perSecond(ours.one) / perSecond(loads)).toFixed(1)}x`,
    },
    {
      what: `TASK W1 one at a time: p50 beside ${what}`,
      value: `${(median(ours.latencies) / median(latencies)).toFixed(3)}x`,
    },
  ])
}

function perSecond(measured: readonly Measured[]): number {
  return median(measured.map(({ stepsPerSecond }) => stepsPerSecond))
}

function latencyRows(what: string, tookMs: readonly number[]): Row[] {
  return [
    { what: `${what}: p50`, value: `${quantile(tookMs, 0.5).toFixed(2)} ms` },
    { what: `${what}: p99`, value: `${quantile(tookMs, 0.99).toFixed(2)} ms` },
  ]
}
