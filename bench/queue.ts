// What the durable queue costs: `npm run bench -- queue`. Every push and every acknowledgement
// survives power loss, unless a row says otherwise. Figures and ratios are medians of several rounds, in
// each of which everything has its turn.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQueue, type Queue, type QueueOptions } from '../build/queue/index.js'
import { judged, median, rounded } from './figures.ts'
import { type LoadTime, type QueueLoad, underLoad } from './queue-load.ts'
import {
  appendLog,
  BARE_LOG,
  fdatasyncRate,
  type Peer,
  storePeers,
  threadLog,
} from './queue-peers.ts'
import type { Row } from './table.ts'

interface Size {
  readonly rounds: number
  readonly time: LoadTime
  readonly fsyncs: number
  readonly backlog: number
}

const FULL: Size = {
  rounds: 5,
  time: { ms: 1_000, warmUpMs: 300 },
  fsyncs: 400,
  backlog: 1_000_000,
}
const SMOKE: Size = { rounds: 1, time: { ms: 20, warmUpMs: 1 }, fsyncs: 5, backlog: 1_000 }

/** About 200 bytes when encoded. */
const MESSAGE = { to: 'someone@example.org', subject: 'a message', text: 'x'.repeat(130) }
const MANY = Array.from({ length: 100 }, () => MESSAGE)

type Message = typeof MESSAGE

/** Measures the queue. */
export async function benchQueue({ smoke }: { readonly smoke: boolean }): Promise<Row[]> {
  const size = smoke ? SMOKE : FULL
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-queue-'))
  try {
    const stores = smoke ? 'only in a full run' : await storePeers(folder)
    const logs = [await appendLog(folder), threadLog(folder)]
    const peers = [...logs, ...(typeof stores === 'string' ? [] : stores)]
    const rounds: Round[] = []
    for (let round = 0; round < size.rounds; round++) {
      rounds.push(await playRound(folder, size, peers))
    }
    await Promise.all(peers.map((peer) => peer.close()))
    return [
      ...pushRows(rounds),
      ...cycleRows(rounds),
      ...(await backlogRows(folder, size)),
      ...peers.flatMap((peer) => peerRows(rounds, peer.name)),
      ...(typeof stores === 'string'
        ? [{ what: 'lmdb, classic-level: skipped', value: stores }]
        : []),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const IN_FLIGHT = [1, 64, 1_024] as const

/** What was measured in one go, so that a disk that gets slower does so for all. */
interface Round {
  readonly disk: number
  /** By how many are in flight: the queue, and others by their names. */
  readonly push: Readonly<Record<number, QueueLoad>>
  readonly threadless: QueueLoad
  readonly peers: Readonly<Record<number, Readonly<Record<string, number>>>>
  readonly lists: QueueLoad
  readonly fast: QueueLoad
  readonly fastOne: QueueLoad
  readonly oneCycle: QueueLoad
  readonly cycles: QueueLoad
}

async function playRound(
  folder: string,
  { time, fsyncs }: Size,
  others: readonly Peer[],
): Promise<Round> {
  const text = JSON.stringify(MESSAGE)
  const push: Record<number, QueueLoad> = {}
  const peers: Record<number, Record<string, number>> = {}
  const before = fdatasyncRate(folder, fsyncs)
  const threadless = await load(folder, pushOne, 1, 1, time, { thread: false })
  let after = before
  for (const inFlight of IN_FLIGHT) {
    push[inFlight] = await load(folder, pushOne, inFlight, 1, time)
    if (inFlight === 1) after = fdatasyncRate(folder, fsyncs)
    const rates: Record<string, number> = (peers[inFlight] = {})
    for (const peer of others) {
      rates[peer.name] = (await underLoad(() => peer.push(text), inFlight, 1, time)).perSecond
    }
  }
  return {
    disk: 2 / (1 / before + 1 / after),
    push,
    threadless,
    peers,
    lists: await load(folder, (queue) => queue.pushMany(MANY), 16, MANY.length, time),
    fast: await load(folder, pushOne, 1_024, 1, time, { durability: 'os' }),
    fastOne: await load(folder, pushOne, 1, 1, time, { durability: 'os' }),
    oneCycle: await load(folder, cycle, 1, 1, time),
    cycles: await load(folder, cycle, 512, 1, time),
  }
}

/** The median over the rounds. */
function over(rounds: readonly Round[], figure: (round: Round) => number): number {
  return median(rounds.map(figure))
}

function pushRows(rounds: readonly Round[]): Row[] {
  const rate = (inFlight: number): number => over(rounds, ({ push }) => push[inFlight]!.perSecond)
  return [
    {
      what: 'disk: 4 KiB appended and fdatasync, times/s',
      value: rounded(over(rounds, ({ disk }) => disk)),
    },
    { what: 'push, 1 in flight: messages/s', value: rounded(rate(1)) },
    judged(
      'push, 1 in flight: beside fdatasync',
      { value: over(rounds, ({ push, disk }) => push[1]!.perSecond / disk), digits: 2 },
      { least: 0.85 },
    ),
    judged(
      'push, 1 in flight, without a thread: beside fdatasync',
      {
        value: over(rounds, ({ threadless, disk }) => threadless.perSecond / disk),
        digits: 2,
      },
      { least: 0.85 },
    ),
    { what: 'push, 64 in flight: messages/s', value: rounded(rate(64)) },
    ...rateRows('push, 1,024 in flight', rounds, ({ push }) => push[1_024]!, 150_000),
    cpuRow('push, 1,024 in flight', rounds, ({ push }) => push[1_024]!),
    stallRow('push, 1,024 in flight', rounds, ({ push }) => push[1_024]!),
    ...rateRows('pushMany of 100, 16 in flight', rounds, ({ lists }) => lists, 250_000),
    cpuRow('pushMany of 100, 16 in flight', rounds, ({ lists }) => lists),
    {
      what: "push, 1 in flight, durability 'os': messages/s",
      value: rounded(over(rounds, ({ fastOne }) => fastOne.perSecond)),
    },
    {
      what: "push, 1,024 in flight, durability 'os': messages/s",
      value: rounded(over(rounds, ({ fast }) => fast.perSecond)),
    },
  ]
}

function cycleRows(rounds: readonly Round[]): Row[] {
  const what = 'push, take and ack, 512 in flight'
  return [
    {
      what: 'push, take and ack, 1 in flight: messages/s',
      value: rounded(over(rounds, ({ oneCycle }) => oneCycle.perSecond)),
    },
    ...rateRows(what, rounds, ({ cycles }) => cycles, 50_000),
    cpuRow(what, rounds, ({ cycles }) => cycles),
    stallRow(what, rounds, ({ cycles }) => cycles),
  ]
}

async function backlogRows(folder: string, { backlog }: Size): Promise<Row[]> {
  const path = join(folder, 'backlog.db')
  const filling = await openQueue<Message>(path, { lazy: true, durability: 'os' })
  const list = Array.from({ length: 1_000 }, () => MESSAGE)
  for (let i = 0; i < backlog; i += list.length) await filling.pushMany(list)
  await filling.close()
  const startMs = performance.now()
  const queue = await openQueue<Message>(path, { lazy: true })
  const openedMs = performance.now() - startMs
  const first = await queue.take()
  const takenMs = performance.now() - startMs
  const found = queue.counts.total
  await queue.close()
  if (found !== backlog || first?.id !== 0) throw new Error(`${found} of ${backlog} are there`)
  const what = `${rounded(backlog)} messages, lazy`
  return [
    judged(`${what}: open`, { value: openedMs, unit: ' ms' }, { most: 200 }),
    { what: `${what}: open and take the first`, value: `${rounded(takenMs)} ms` },
  ]
}

function peerRows(rounds: readonly Round[], name: string): Row[] {
  return IN_FLIGHT.flatMap((inFlight) => {
    const what = `${name}: put, ${rounded(inFlight)} in flight`
    const rate = (round: Round): number => round.peers[inFlight]![name]!
    const beside = over(rounds, (round) => round.push[inFlight]!.perSecond / rate(round))
    return [
      { what: `${what}: messages/s`, value: rounded(over(rounds, rate)) },
      { what: `${what}: the queue beside it`, value: `${beside.toFixed(2)}x` },
    ]
  })
}

/**
 * What a bare log takes with 1,024 in flight on the machine that the targets were set on. Another
 * machine, or the same one on a bad day, can be held to the same share of what its own log takes.
 */
const LOG_OF_TARGETS = 872_758

/** How many messages a second, and how many beside a bare log. */
function rateRows(
  what: string,
  rounds: readonly Round[],
  of: (round: Round) => QueueLoad,
  least: number,
): Row[] {
  const beside = over(rounds, (round) => of(round).perSecond / round.peers[1_024]![BARE_LOG]!)
  const leastBeside = Number((least / LOG_OF_TARGETS).toFixed(2))
  return [
    judged(
      `${what}: messages/s`,
      { value: over(rounds, (round) => of(round).perSecond) },
      { least },
    ),
    judged(
      `${what}: beside the bare log`,
      { value: beside, digits: 2, unit: 'x' },
      { least: leastBeside },
    ),
  ]
}

function cpuRow(what: string, rounds: readonly Round[], of: (round: Round) => QueueLoad): Row {
  const cpuUs = over(rounds, (round) => of(round).cpuUs)
  return { what: `${what}: processor time a message`, value: `${cpuUs.toFixed(1)} µs` }
}

function stallRow(what: string, rounds: readonly Round[], of: (round: Round) => QueueLoad): Row {
  const value = over(rounds, (round) => of(round).stallP99Ms)
  return judged(
    `${what}: a 1 ms timer is late, p99`,
    { value, digits: 1, unit: ' ms' },
    { most: 10 },
  )
}

const pushOne = (queue: Queue<Message>): Promise<unknown> => queue.push(MESSAGE)

async function cycle(queue: Queue<Message>): Promise<void> {
  await queue.push(MESSAGE)
  const delivery = await queue.take({ timeout: '10s' })
  await delivery!.ack()
}

let files = 0

/** Load on a queue in a file of its own. */
async function load(
  folder: string,
  run: (queue: Queue<Message>) => Promise<unknown>,
  inFlight: number,
  per: number,
  time: LoadTime,
  options: Pick<QueueOptions, 'durability' | 'thread'> = {},
): Promise<QueueLoad> {
  const path = join(folder, `${++files}.db`)
  await using queue = await openQueue<Message>(path, { lazy: true, ...options })
  return await underLoad(() => run(queue), inFlight, per, time)
}
