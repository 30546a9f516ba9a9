// What children, messages and continue-as-new cost, on both stores: `npm run bench -- workflows`.

import { type CrossingSize, crossings } from './between-processes.ts'
import { messageLatency, messageRate } from './channel.ts'
import { cells, COLUMNS, type EngineOptions, medians, onFresh } from './engine.ts'
import { median, quantile, rounded } from './figures.ts'
import {
  holdfastOn,
  holdfastOnPostgres,
  type Place,
  postgresPlace,
  sqlitePlace,
} from './holdfast.ts'
import { executionRate, type LoopSize } from './loop.ts'
import type { Measured, Plan } from './peer.ts'
import { CHILD } from './shapes.ts'
import { printGrid, type Row } from './table.ts'

/** How big everything is. */
interface Size {
  readonly rounds: number
  readonly child: Plan
  readonly channel: Plan
  readonly crossing: CrossingSize
  /** One after the other, and many side by side. */
  readonly loops: readonly LoopSize[]
}

const FULL: Size = {
  rounds: 3,
  child: { inFlight: 20, ms: 3_000, warmUpMs: 700, samples: 0 },
  channel: { inFlight: 50, ms: 3_000, warmUpMs: 700, samples: 500 },
  crossing: { instances: 20, messagesEach: 20, everyMs: 100, lease: '30s' },
  loops: [
    { instances: 1, executions: 10_000 },
    { instances: 100, executions: 100 },
  ],
}

const SMOKE: Size = {
  rounds: 1,
  child: { inFlight: 2, ms: 20, warmUpMs: 5, samples: 0 },
  channel: { inFlight: 5, ms: 20, warmUpMs: 5, samples: 5 },
  crossing: { instances: 2, messagesEach: 2, everyMs: 5, lease: '1s' },
  loops: [
    { instances: 1, executions: 50 },
    { instances: 5, executions: 10 },
  ],
}

/** A store as this benchmark needs it. */
interface Bed {
  readonly kind: Place['kind']
  readonly makePlace: () => Promise<Place>
  readonly measureChildren: () => Promise<Measured>
}

/** All that was measured on one store, round by round. */
interface Samples {
  readonly children: Measured[]
  readonly latencies: number[]
  readonly messagesPerSecond: number[]
  /** Executions per second, for each size of loop. */
  readonly loops: readonly number[][]
}

/** Prints what children come to; returns the rest as rows. */
export async function benchWorkflows(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const server = await options.server()
  const beds: Bed[] = [
    {
      kind: 'PostgreSQL',
      makePlace: () => postgresPlace(server),
      measureChildren: () => holdfastOnPostgres(server, CHILD, size.child),
    },
    {
      kind: 'SQLite',
      makePlace: () => sqlitePlace(),
      measureChildren: () => onFresh(sqlitePlace, (place) => holdfastOn(place, CHILD, size.child)),
    },
  ]
  const all = new Map(beds.map((bed): [Bed, Samples] => [bed, nothingTaken(size)]))
  for (let round = 0; round < size.rounds; round++) {
    for (const [bed, taken] of all) await takeRound(bed, taken, size)
  }

  console.log(`\n${server.description}`)
  const children = [...all].map(([bed, taken]) => ({ ...bed, figures: medians(taken.children) }))
  printGrid(
    `CHILD: parents of ${CHILD.steps}, ${size.child.inFlight} in flight, medians of ` +
      `${size.rounds}; a step is a child`,
    [['', ...COLUMNS], ...children.map(({ kind, figures }) => [kind, ...cells(figures)])],
  )
  const rows: Row[] = []
  for (const [bed, taken] of all) {
    const { seen } = await onFresh(bed.makePlace, (place) => crossings(place, size.crossing))
    rows.push(...rowsOf(bed.kind, taken, seen, size))
  }
  return rows
}

function nothingTaken({ loops }: Size): Samples {
  return { children: [], latencies: [], messagesPerSecond: [], loops: loops.map(() => []) }
}

async function takeRound(bed: Bed, taken: Samples, { channel, loops }: Size): Promise<void> {
  const { makePlace } = bed
  taken.children.push(await bed.measureChildren())
  taken.latencies.push(...(await onFresh(makePlace, (place) => messageLatency(place, channel))))
  taken.messagesPerSecond.push(await onFresh(makePlace, (place) => messageRate(place, channel)))
  for (const [i, loop] of loops.entries()) {
    taken.loops[i]!.push(await onFresh(makePlace, (place) => executionRate(place, loop)))
  }
}

function rowsOf(
  kind: Place['kind'],
  taken: Samples,
  crossed: readonly number[],
  { child, channel, crossing, loops }: Size,
): Row[] {
  const children = medians(taken.children)
  return [
    {
      what: `${kind} CHILD, ${child.inFlight} parents of ${CHILD.steps} in flight: parents/s`,
      value: rounded(children.workflowsPerSecond),
    },
    { what: `${kind} CHILD: children/s`, value: rounded(children.stepsPerSecond) },
    ...latencyRows(`${kind} CHANNEL one at a time, send to first effect`, taken.latencies),
    {
      what: `${kind} CHANNEL, ${channel.inFlight} senders to as many instances: messages/s`,
      value: rounded(median(taken.messagesPerSecond)),
    },
    ...latencyRows(`${kind} CHANNEL between two processes, lease ${crossing.lease}`, crossed),
    ...loops.map(({ instances, executions }, i) => ({
      what: `${kind} LOOP, ${instances} × ${rounded(executions)} continue-as-new: executions/s`,
      value: rounded(median(taken.loops[i]!)),
    })),
  ]
}

function latencyRows(what: string, tookMs: readonly number[]): Row[] {
  return [
    { what: `${what}: p50`, value: `${quantile(tookMs, 0.5).toFixed(2)} ms` },
    { what: `${what}: p99`, value: `${quantile(tookMs, 0.99).toFixed(2)} ms` },
  ]
}
