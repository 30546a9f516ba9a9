// What the durable queue costs: `npm run bench -- queue`. Every push and every acknowledgement
// survives power loss, unless a row says otherwise.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQueue, type Queue } from '../dist/queue/index.js'
import { judged, whole } from './figures.ts'
import { type LoadTime, type QueueLoad, underLoad } from './queue-load.ts'
import { appendLog, fdatasyncRate, storePeers } from './queue-peers.ts'
import type { Row } from './table.ts'

interface Size {
  readonly time: LoadTime
  readonly fsyncs: number
  readonly backlog: number
}

const FULL: Size = {
  time: { ms: 3_000, warmUpMs: 700 },
  fsyncs: 3_000,
  backlog: 1_000_000,
}
const SMOKE: Size = { time: { ms: 20, warmUpMs: 1 }, fsyncs: 5, backlog: 1_000 }

/** About 200 bytes when encoded. */
const MESSAGE = { to: 'somebody@example.org', subject: 'a message', text: 'x'.repeat(130) }
const MANY = Array.from({ length: 100 }, () => MESSAGE)

type Message = typeof MESSAGE

/** Measures the queue. */
export async function benchQueue({ smoke }: { readonly smoke: boolean }): Promise<Row[]> {
  const size = smoke ? SMOKE : FULL
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-queue-'))
  try {
    return [
      ...(await pushRows(folder, size)),
      ...(await cycleRows(folder, size)),
      ...(await backlogRows(folder, size)),
      ...(await peerRows(folder, size, smoke)),
    ]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function pushRows(folder: string, { time, fsyncs }: Size): Promise<Row[]> {
  const disk = fdatasyncRate(folder, fsyncs)
  const one = await load(folder, push, 1, 1, time)
  const some = await load(folder, push, 64, 1, time)
  const many = await load(folder, push, 1_024, 1, time)
  const lists = await load(folder, (queue) => queue.pushMany(MANY), 16, MANY.length, time)
  const fast = await load(folder, push, 1_024, 1, time, 'os')
  return [
    { what: 'disk: 4 KiB appended and fdatasync, times/s', value: whole(disk) },
    { what: 'push, 1 in flight: messages/s', value: whole(one.perSecond) },
    judged(
      'push, 1 in flight: beside fdatasync',
      { value: one.perSecond / disk, digits: 2 },
      { least: 0.85 },
    ),
    { what: 'push, 64 in flight: messages/s', value: whole(some.perSecond) },
    judged('push, 1,024 in flight: messages/s', { value: many.perSecond }, { least: 150_000 }),
    cpuRow('push, 1,024 in flight', many),
    judged(
      'push, 1,024 in flight: a 1 ms timer is late, p99',
      { value: many.stallP99Ms, digits: 1, unit: ' ms' },
      { most: 10 },
    ),
    judged(
      'pushMany of 100, 16 in flight: messages/s',
      { value: lists.perSecond },
      { least: 250_000 },
    ),
    cpuRow('pushMany of 100, 16 in flight', lists),
    { what: "push, 1,024 in flight, durability 'os': messages/s", value: whole(fast.perSecond) },
  ]
}

async function cycleRows(folder: string, { time }: Size): Promise<Row[]> {
  const one = await load(folder, cycle, 1, 1, time)
  const many = await load(folder, cycle, 512, 1, time)
  return [
    { what: 'push, take and ack, 1 in flight: messages/s', value: whole(one.perSecond) },
    judged(
      'push, take and ack, 512 in flight: messages/s',
      { value: many.perSecond },
      { least: 50_000 },
    ),
    cpuRow('push, take and ack, 512 in flight', many),
    judged(
      'push, take and ack, 512 in flight: a 1 ms timer is late, p99',
      { value: many.stallP99Ms, digits: 1, unit: ' ms' },
      { most: 10 },
    ),
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
  const what = `${whole(backlog)} messages, lazy`
  return [
    judged(`${what}: open`, { value: openedMs, unit: ' ms' }, { most: 200 }),
    { what: `${what}: open and take the first`, value: `${whole(takenMs)} ms` },
  ]
}

async function peerRows(folder: string, { time }: Size, smoke: boolean): Promise<Row[]> {
  const stores = smoke ? 'only in a full run' : await storePeers(folder)
  const log = await appendLog(folder)
  const text = JSON.stringify(MESSAGE)
  const rows: Row[] = []
  for (const peer of [log, ...(typeof stores === 'string' ? [] : stores)]) {
    for (const inFlight of [1, 64, 1_024]) {
      const { perSecond } = await underLoad(() => peer.push(text), inFlight, 1, time)
      rows.push({
        what: `${peer.name}: put, ${whole(inFlight)} in flight: messages/s`,
        value: whole(perSecond),
      })
    }
    await peer.close()
  }
  if (typeof stores === 'string') rows.push({ what: 'lmdb, classic-level: skipped', value: stores })
  return rows
}

function cpuRow(what: string, { cpuUs }: QueueLoad): Row {
  return { what: `${what}: processor time a message`, value: `${cpuUs.toFixed(1)} µs` }
}

const push = (queue: Queue<Message>): Promise<unknown> => queue.push(MESSAGE)

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
  durability: 'fsync' | 'os' = 'fsync',
): Promise<QueueLoad> {
  const path = join(folder, `${++files}.db`)
  await using queue = await openQueue<Message>(path, { lazy: true, durability })
  return await underLoad(() => run(queue), inFlight, per, time)
}
