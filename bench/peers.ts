// Holdfast beside DBOS and the bare writes, on the same server, in turns: `npm run bench -- peers`.

import { ceiling } from './ceiling.ts'
import { type Dbos, installDbos } from './dbos.ts'
import { cells, COLUMNS, type EngineOptions, medians } from './engine.ts'
import { judged, quantile } from './figures.ts'
import { holdfastLatency, holdfastOnPostgres, postgresPlace } from './holdfast.ts'
import type { Measured, Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { type Shape, SHAPES } from './shapes.ts'
import { printGrid, type Row } from './table.ts'
import { workflowPeers } from './workflow-peers.ts'

const FULL = { plan: { inFlight: 100, ms: 4_000, warmUpMs: 1_000, samples: 300 }, rounds: 3 }
const SMOKE = { plan: { inFlight: 10, ms: 20, warmUpMs: 5, samples: 5 }, rounds: 1 }

interface Peer {
  readonly name: string
  measure(shape: Shape): Promise<Measured>
}

/** Prints every figure; returns the ratios. */
export async function benchPeers(options: EngineOptions): Promise<Row[]> {
  const { plan, rounds } = options.smoke ? SMOKE : FULL
  const dbos = options.smoke ? 'it is left out of a smoke run' : installDbos()
  const server = await options.server()
  const peers: Peer[] = [
    { name: 'Holdfast', measure: (shape) => holdfastOnPostgres(server, shape, plan) },
    { name: 'ceiling', measure: (shape) => ceiling(server, shape, plan) },
  ]
  if (typeof dbos !== 'string') {
    const measure = (shape: Shape): Promise<Measured> => dbos.load(server, shape, plan)
    peers.push({ name: `DBOS ${dbos.version}`, measure })
  }

  const all = new Map(
    peers.flatMap((peer) => SHAPES.map((shape) => [key(peer, shape), [] as Measured[]])),
  )
  for (let round = 0; round < rounds; round++) {
    for (const shape of SHAPES) {
      for (const peer of peers) all.get(key(peer, shape))!.push(await peer.measure(shape))
    }
  }
  const figures = new Map([...all].map(([name, measured]) => [name, medians(measured)]))
  console.log(`\n${server.description}`)
  printGrid(`side by side, ${plan.inFlight} in flight, medians of ${rounds} rounds in turns`, [
    ['', ...COLUMNS],
    ...[...figures].map(([name, measured]) => [name, ...cells(measured)]),
  ])

  const of = (peer: Peer, shape: Shape): Measured => figures.get(key(peer, shape))!
  const [holdfast, bare, other] = peers
  const rows: Row[] = SHAPES.map((shape) => ({
    what: `${shape.name}: Holdfast beside the bare writes`,
    value: `${(of(holdfast!, shape).stepsPerSecond / of(bare!, shape).stepsPerSecond).toFixed(2)}x`,
  }))
  if (other === undefined) return [...rows, { what: 'DBOS: skipped', value: dbos as string }]
  return [
    ...rows,
    ...SHAPES.map((shape) => ratio(shape, of(holdfast!, shape), of(other, shape))),
    ...walRow(of(holdfast!, SHAPES[2]!), of(other, SHAPES[2]!)),
    ...(await latencyRows(server, dbos as Dbos, plan)),
    ...(await workflowPeers(server, dbos as Dbos, { plan, rounds })),
  ]
}

/** How many times DBOS's steps per second are wanted. */
const TIMES = { W1: undefined, W5: 20, W10: 20, FAN: 50, CHILD: undefined } as const

function ratio(shape: Shape, ours: Measured, theirs: Measured): Row {
  const what = `${shape.name}: Holdfast beside DBOS, steps/s`
  const value = ours.stepsPerSecond / theirs.stepsPerSecond
  const least = TIMES[shape.name]
  if (least === undefined) return { what, value: `${value.toFixed(1)}x` }
  return judged(what, { value, digits: 1, unit: 'x' }, { least })
}

function walRow(ours: Measured, theirs: Measured): Row[] {
  const value = ours.perStep!.walBytes / theirs.perStep!.walBytes
  return [judged('W10: WAL per step beside DBOS', { value, digits: 2, unit: 'x' }, { most: 0.7 })]
}

async function latencyRows(server: BenchServer, dbos: Dbos, plan: Plan): Promise<Row[]> {
  const [shape] = SHAPES
  await using place = await postgresPlace(server)
  const ours = await holdfastLatency(place, shape!, plan)
  const theirs = await dbos.latency(server, shape!, plan)
  const both = (share: number): string =>
    `${quantile(ours, share).toFixed(2)} and ${quantile(theirs, share).toFixed(2)} ms`
  return [
    { what: 'W1 one at a time, Holdfast and DBOS: p50', value: both(0.5) },
    { what: 'W1 one at a time, Holdfast and DBOS: p99', value: both(0.99) },
    judged(
      'W1 one at a time: p50 beside DBOS',
      { value: quantile(ours, 0.5) / quantile(theirs, 0.5), digits: 2, unit: 'x' },
      { most: 0.5 },
    ),
  ]
}

function key(peer: Peer, shape: Shape): string {
  return `${shape.name} ${peer.name}`
}
