// The outbox beside other systems that deliver what a transaction has stored: `npm run bench -- outbox`.
//
// A transaction is `begin`, one row of the caller's own, one message or a hundred, `commit`. Handlers do
// nothing. All are measured on the same server, each in a process of its own, in turns; the ratios are
// medians of the ratios of each round. Holdfast delivers the messages of a key in order, which is checked;
// the others promise no order here.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../build/index.js'
import { outbox, topic } from '../build/outbox/index.js'
import type { EngineOptions } from './engine.ts'
import { median, quantile, rounded } from './figures.ts'
import {
  holdfastPeers,
  installOutboxPeers,
  type OutboxMeasured,
  type OutboxPeer,
  type OutboxPlan,
  type OutboxShape,
} from './outbox-peers.ts'
import type { BenchServer } from './postgres.ts'
import { printGrid, type Row } from './table.ts'

const IDLE_DATABASE = 'bench_outbox_idle'

const SHAPES: readonly OutboxShape[] = [
  { name: '1p1c', producers: 1, consumers: 1, perTransaction: 1 },
  { name: '1p1c, 100 each', producers: 1, consumers: 1, perTransaction: 100 },
  { name: '16p16c', producers: 16, consumers: 16, perTransaction: 1 },
  { name: '16p16c, 100 each', producers: 16, consumers: 16, perTransaction: 100 },
]

/** The share of its messages that a peer must deliver in time for a ratio to mean something. */
const KEPT_UP = 0.5

interface Pace {
  readonly name: string
  readonly producers: number
  readonly everyMs: number
}

const PACES: readonly Pace[] = [
  { name: 'idle', producers: 1, everyMs: 50 },
  { name: '500 a second', producers: 16, everyMs: 32 },
]

interface Size {
  readonly plan: OutboxPlan
  readonly paced: OutboxPlan
  readonly rounds: number
  readonly idle: {
    readonly topics: number
    readonly partitions: number
    readonly settleMs: number
    readonly ms: number
  }
}

const FULL: Size = {
  plan: { ms: 2_000, drainMs: 3_000 },
  paced: { ms: 5_000, drainMs: 3_000 },
  rounds: 3,
  idle: { topics: 100, partitions: 64, settleMs: 5_000, ms: 30_000 },
}

const SMOKE: Size = {
  plan: { ms: 20, drainMs: 10_000 },
  paced: { ms: 60, drainMs: 10_000 },
  rounds: 1,
  idle: { topics: 2, partitions: 64, settleMs: 10, ms: 100 },
}

/** Prints every figure; returns those of Holdfast, and the ratios. */
export async function benchOutbox(options: EngineOptions): Promise<Row[]> {
  const size = options.smoke ? SMOKE : FULL
  const others = options.smoke ? 'left out of a smoke run' : installOutboxPeers()
  const server = await options.server()
  const ours = holdfastPeers(typeof others !== 'string')
  const theirs = typeof others === 'string' ? [] : others
  const peers = [...ours, ...theirs]

  console.log(`\n${server.description}`)
  const rows = [
    ...(await loadRows(server, { ours, theirs, size })),
    ...(await pacedRows(server, { ours, peers, size })),
    ...(await idleRows(server, size)),
  ]
  if (typeof others !== 'string') return rows
  return [...rows, { what: 'graphile-worker and pg-boss: skipped', value: others }]
}

interface Contest {
  readonly ours: readonly OutboxPeer[]
  readonly theirs: readonly OutboxPeer[]
  readonly size: Size
}

async function loadRows(
  server: BenchServer,
  { ours, theirs, size: { plan, rounds } }: Contest,
): Promise<Row[]> {
  const peers = [...ours, ...theirs]
  const rows: Row[] = []
  for (const shape of SHAPES) {
    const measured = new Map(peers.map((one): [OutboxPeer, OutboxMeasured[]] => [one, []]))
    for (let round = 0; round < rounds; round++) {
      for (const [one, all] of measured) all.push(await one.load(server, shape, plan))
    }
    const of = (one: OutboxPeer, figure: (of: OutboxMeasured) => number): number =>
      median(measured.get(one)!.map(figure))
    printGrid(`OUTBOX ${shape.name}: medians of ${rounds} rounds in turns`, [
      ['', 'messages/s', 'enqueued/s', 'statements each', 'in time', 'out of order'],
      ...peers.map((one) => [
        one.name,
        rounded(of(one, ({ perSecond }) => perSecond)),
        rounded(of(one, ({ enqueuedPerSecond }) => enqueuedPerSecond)),
        // Who left most of them behind has no figure for the others.
        of(one, ({ delivered }) => delivered) < KEPT_UP
          ? 'unknown'
          : statementsOf(measured.get(one)!),
        `${(of(one, ({ delivered }) => delivered) * 100).toFixed(0)} %`,
        rounded(of(one, ({ disorder }) => disorder)),
      ]),
    ])
    for (const one of ours) {
      if (of(one, ({ disorder }) => disorder) > 0) throw new Error(`${one.name}: out of order`)
      rows.push(
        {
          what: `OUTBOX ${shape.name}, ${one.name}: messages/s end to end`,
          value: rounded(of(one, ({ perSecond }) => perSecond)),
        },
        {
          what: `OUTBOX ${shape.name}, ${one.name}: statements per message`,
          value: statementsOf(measured.get(one)!),
        },
      )
    }
    // Defaults beside defaults, and the best of each beside the best.
    for (const one of ours) {
      for (const other of theirs.filter(({ settings }) => settings === one.settings)) {
        const ratios = measured
          .get(one)!
          .map(({ perSecond }, i) => perSecond / measured.get(other)![i]!.perSecond)
        const share = of(other, ({ delivered }) => delivered)
        rows.push({
          what: `OUTBOX ${shape.name}, ${one.name}: beside ${other.name}`,
          // Who has a limit of its own, such as a poll, was not measured but waited for.
          value:
            share < KEPT_UP
              ? `it delivered ${(share * 100).toFixed(0)} % in time`
              : `${median(ratios).toFixed(2)}x`,
        })
      }
    }
  }
  return rows
}

function statementsOf(measured: readonly OutboxMeasured[]): string {
  const counts = measured.flatMap(({ statements }) => statements ?? [])
  return counts.length === 0 ? 'unknown' : median(counts).toFixed(2)
}

async function pacedRows(
  server: BenchServer,
  contest: {
    readonly ours: readonly OutboxPeer[]
    readonly peers: readonly OutboxPeer[]
    readonly size: Size
  },
): Promise<Row[]> {
  const { ours, peers, size } = contest
  const rows: Row[] = []
  const lines: string[][] = [['', ...PACES.flatMap(({ name }) => [`${name}: p50`, 'p99'])]]
  for (const one of peers) {
    const line = [one.name]
    for (const pace of PACES) {
      const took = await one.paced(server, pace, size.paced)
      for (const share of [0.5, 0.99]) {
        const value = took.length === 0 ? 'none' : `${quantile(took, share).toFixed(2)} ms`
        line.push(value)
        if (!ours.includes(one)) continue
        rows.push({
          what: `OUTBOX ${pace.name}, ${one.name}: commit to handler, p${share * 100}`,
          value,
        })
      }
    }
    lines.push(line)
  }
  printGrid('OUTBOX: from sending the commit to the handler, in one process', lines)
  return rows
}

/** What partitions cost in which nothing happens. */
async function idleRows(server: BenchServer, { idle }: Size): Promise<Row[]> {
  const url = await server.freshDatabase(IDLE_DATABASE)
  await using client = connect(url)
  const events = outbox(client)
  for (let n = 0; n < idle.topics; n++) {
    const name = `topic-${n}`
    events.handle(topic<string>(name, { partitions: idle.partitions }), async () => {})
  }
  await events.start()
  await sleep(idle.settleMs)
  const pids = (
    await server.query<{ pid: number }>(
      IDLE_DATABASE,
      `select pid from pg_stat_activity
       where datname = '${IDLE_DATABASE}' and application_name like 'holdfast%'`,
    )
  ).map(({ pid }) => pid)
  const before = (await server.counters(IDLE_DATABASE)).statements ?? 0
  const cpuBeforeMs = cpuMsOf(pids)
  await sleep(idle.ms)
  const after = (await server.counters(IDLE_DATABASE)).statements ?? 0
  const cpuMs = cpuMsOf(pids) - cpuBeforeMs
  const seconds = idle.ms / 1_000
  const partitions = rounded(idle.topics * idle.partitions)
  return [
    {
      what: `OUTBOX idle, ${partitions} partitions: statements/s`,
      value: ((after - before) / seconds).toFixed(2),
    },
    {
      what: `OUTBOX idle, ${partitions} partitions: CPU of the server, ms each second`,
      value: Number.isNaN(cpuMs) ? 'unknown here' : (cpuMs / seconds).toFixed(2),
    },
  ]
}

/** The CPU time of these processes so far, where /proc shows it. It counts in steps of 10 ms. */
function cpuMsOf(pids: readonly number[]): number {
  try {
    return pids.reduce((sum, pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
      return sum + (Number(fields[11]) + Number(fields[12])) * 10
    }, 0)
  } catch {
    return Number.NaN
  }
}
