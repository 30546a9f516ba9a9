// What it costs that a transaction of the caller starts a workflow, beside the same transaction
// alone and beside DBOS: `npm run bench -- transactions`.
//
// Each transaction is `begin`, one row of the caller's own, the start, `commit`. What is started is
// due much later: a runtime gets a hint and has nothing to do yet, so that only the start is
// measured.

import { Client } from 'pg'

import { workflow } from '../build/index.js'
import { type DbosQueues, installDbosQueues } from './dbos-queues.ts'
import { type EngineOptions, onFresh } from './engine.ts'
import { median, rounded } from './figures.ts'
import { checkRecorded, type Place, postgresPlace, withRuntime } from './holdfast.ts'
import type { Plan } from './peer.ts'
import type { BenchServer } from './postgres.ts'
import { printGrid, type Row } from './table.ts'

const DATABASE = 'bench_holdfast'
const CONNECTIONS = [1, 16]

const FULL = { plan: { ms: 3_000, warmUpMs: 700, samples: 0 }, rounds: 3 }
const SMOKE = { plan: { ms: 20, warmUpMs: 5, samples: 0 }, rounds: 1 }

const fulfil = workflow<{ readonly item: string }, void>('fulfil', async () => {})

interface Peer {
  readonly name: string
  /** Transactions per second, with `inFlight` connections. */
  rate(plan: Plan): Promise<number>
}

/** Prints every figure; returns those of Holdfast, and the ratios. */
export async function benchTransactions(options: EngineOptions): Promise<Row[]> {
  const { plan, rounds } = options.smoke ? SMOKE : FULL
  const dbos = options.smoke ? 'it is left out of a smoke run' : installDbosQueues()
  const server = await options.server()
  const { ours, others } = peersOn(server, dbos)
  const peers = [...ours, ...others]
  const rates = CONNECTIONS.map((connections) => ({
    connections,
    of: new Map(peers.map((peer): [Peer, number[]] => [peer, []])),
  }))
  for (let round = 0; round < rounds; round++) {
    for (const { connections, of } of rates) {
      for (const [peer, taken] of of) {
        taken.push(await peer.rate({ ...plan, inFlight: connections }))
      }
    }
  }

  console.log(`\n${server.description}`)
  printGrid(`TX: transactions per second, medians of ${rounds} rounds in turns`, [
    ['', ...rates.map(({ connections }) => named(connections))],
    ...peers.map((peer) => [peer.name, ...rates.map(({ of }) => rounded(median(of.get(peer)!)))]),
  ])
  const rows = rates.flatMap(({ connections, of }) => {
    const rate = (peer: Peer): number => median(of.get(peer)!)
    return ours.flatMap((one): Row[] => [
      { what: `TX, ${named(connections)}, ${one.name}: starts/s`, value: rounded(rate(one)) },
      ...others.map((other) => ({
        what: `TX, ${named(connections)}, ${one.name}: beside ${other.name}`,
        value: `${(rate(one) / rate(other)).toFixed(2)}x`,
      })),
    ])
  })
  return typeof dbos === 'string' ? [...rows, { what: 'DBOS: skipped', value: dbos }] : rows
}

function peersOn(server: BenchServer, dbos: DbosQueues | string) {
  const onPlace = (measure: (place: Place, plan: Plan) => Promise<number>) => (plan: Plan) =>
    onFresh(
      () => postgresPlace(server),
      (place) => measure(place, plan),
    )
  const starts = (notify: boolean) =>
    onPlace((place, plan) => startRate(server, place, plan, { notify }))
  const ours: Peer[] = [
    { name: 'in(tx)', rate: starts(true) },
    { name: 'in(tx, { notify: false })', rate: starts(false) },
  ]
  const others: Peer[] = [
    {
      name: 'the transaction alone',
      rate: onPlace((place, plan) => bareRate(server, place, plan)),
    },
  ]
  if (typeof dbos !== 'string') {
    const name = `enqueueInTransaction of DBOS ${dbos.version}`
    others.push({ name, rate: (plan) => dbos.startRate(server, plan) })
  }
  return { ours, others }
}

function named(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`
}

async function bareRate(server: BenchServer, { url }: Place, plan: Plan): Promise<number> {
  const { rate } = await transactions(server, url, plan, async () => {})
  return rate
}

async function startRate(
  server: BenchServer,
  place: Place,
  plan: Plan,
  options: { readonly notify: boolean },
): Promise<number> {
  const { rate, committed } = await withRuntime(place.store(), fulfil, (runtime) =>
    transactions(server, place.url, plan, (tx) =>
      runtime.in(tx, options).start(fulfil, { item: 'chair' }, { delay: '1h' }),
    ),
  )
  await checkRecorded(place, 'TX', { executions: committed, asleep: committed, completed: 0 })
  return rate
}

/** Commits one transaction after the other on each connection, with `work` in each. */
async function transactions(
  server: BenchServer,
  url: string,
  { inFlight, ms, warmUpMs }: Plan,
  work: (tx: Client) => Promise<unknown>,
): Promise<{ readonly rate: number; readonly committed: number }> {
  await server.query(
    DATABASE,
    `drop table if exists orders;
    create table orders (id bigserial primary key, item text not null)`,
  )
  const clients = Array.from({ length: inFlight }, () => new Client({ connectionString: url }))
  try {
    for (const client of clients) await client.connect()
    const warmUp = await commitFor(warmUpMs, clients, work)
    const load = await commitFor(ms, clients, work)
    const committed = warmUp.committed + load.committed
    const [row] = await server.query<{ orders: number }>(
      DATABASE,
      'select count(*)::int as orders from orders',
    )
    if (row!.orders !== committed) {
      throw new Error(`TX: ${committed} were committed, but ${row!.orders} orders are there`)
    }
    return { rate: load.committed / load.seconds, committed }
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

async function commitFor(
  ms: number,
  clients: readonly Client[],
  work: (tx: Client) => Promise<unknown>,
): Promise<{ readonly committed: number; readonly seconds: number }> {
  const startMs = performance.now()
  let committed = 0
  const lane = async (tx: Client): Promise<void> => {
    while (performance.now() - startMs < ms) {
      await tx.query('begin')
      await tx.query(`insert into orders (item) values ('chair')`)
      await work(tx)
      await tx.query('commit')
      committed++
    }
  }
  await Promise.all(clients.map(lane))
  return { committed, seconds: (performance.now() - startMs) / 1_000 }
}
