// Children and messages of Holdfast beside those of DBOS, on the same server, in turns. Part of
// `npm run bench -- peers`.

import { messageLatency, messageRate } from './channel.ts'
import type { Dbos } from './dbos.ts'
import { cells, COLUMNS, medians, onFresh } from './engine.ts'
import { median, quantile, rounded } from './figures.ts'
import { holdfastOnPostgres, postgresPlace } from './holdfast.ts'
import type { Measured, Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { CHILD } from './shapes.ts'
import { printGrid, type Row } from './table.ts'

const PARENTS_IN_FLIGHT = 20
const SENDERS = 50

/** What both have a shape for. */
interface Peer {
  readonly name: string
  children(): Promise<Measured>
  messageRate(): Promise<number>
  messageLatency(): Promise<number[]>
}

/** All that was measured of one of them, round by round. */
interface Samples {
  readonly children: Measured[]
  readonly messagesPerSecond: number[]
  readonly latencies: number[]
}

/** Prints every figure; returns the ratios. */
export async function workflowPeers(
  server: BenchServer,
  dbos: Dbos,
  { plan, rounds }: { readonly plan: Plan; readonly rounds: number },
): Promise<Row[]> {
  const parents: Plan = { ...plan, inFlight: PARENTS_IN_FLIGHT }
  const senders: Plan = { ...plan, inFlight: SENDERS }
  const makePlace = () => postgresPlace(server)
  const holdfast: Peer = {
    name: 'Holdfast',
    children: () => holdfastOnPostgres(server, CHILD, parents),
    messageRate: () => onFresh(makePlace, (place) => messageRate(place, senders)),
    messageLatency: () => onFresh(makePlace, (place) => messageLatency(place, senders)),
  }
  const other: Peer = {
    name: `DBOS ${dbos.version}`,
    children: () => dbos.load(server, CHILD, parents),
    messageRate: () => dbos.messageRate(server, senders),
    messageLatency: () => dbos.messageLatency(server, senders),
  }
  const [ours, theirs] = await inTurns([holdfast, other], rounds)

  const both = [
    { name: holdfast.name, ...ours! },
    { name: other.name, ...theirs! },
  ]
  printGrid(
    `CHILD: parents of ${CHILD.steps}, ${PARENTS_IN_FLIGHT} in flight, medians of ${rounds} ` +
      'rounds in turns; a step is a child',
    [['', ...COLUMNS], ...both.map(({ name, children }) => [name, ...cells(medians(children))])],
  )
  printGrid(`CHANNEL: ${SENDERS} senders to as many instances, then one at a time`, [
    ['', 'messages/s', 'p50 ms', 'p99 ms'],
    ...both.map(({ name, messagesPerSecond, latencies }) => [
      name,
      rounded(median(messagesPerSecond)),
      quantile(latencies, 0.5).toFixed(2),
      quantile(latencies, 0.99).toFixed(2),
    ]),
  ])
  const beside = (what: string, figure: (taken: Samples) => number): Row => ({
    what,
    value: `${(figure(ours!) / figure(theirs!)).toFixed(2)}x`,
  })
  return [
    beside('CHILD: Holdfast beside DBOS, children/s', (taken) =>
      median(taken.children.map(({ stepsPerSecond }) => stepsPerSecond)),
    ),
    beside('CHANNEL: Holdfast beside DBOS, messages/s', (taken) => median(taken.messagesPerSecond)),
    beside('CHANNEL one at a time: p50 beside DBOS', (taken) => median(taken.latencies)),
  ]
}

async function inTurns(peers: readonly Peer[], rounds: number): Promise<Samples[]> {
  const all = peers.map((peer) => ({
    peer,
    taken: { children: [], messagesPerSecond: [], latencies: [] } as Samples,
  }))
  for (let round = 0; round < rounds; round++) {
    for (const { peer, taken } of all) taken.children.push(await peer.children())
    for (const { peer, taken } of all) taken.messagesPerSecond.push(await peer.messageRate())
    for (const { peer, taken } of all) taken.latencies.push(...(await peer.messageLatency()))
  }
  return all.map(({ taken }) => taken)
}
