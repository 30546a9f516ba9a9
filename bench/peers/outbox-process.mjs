// What every script shares that measures messages which are enqueued in transactions. They are started by
// `bench/outbox-peers.ts`:
//
//   node <script> <folder with node_modules> <database url> default|best <consumers>
//
// A script says "ready", answers each line of JSON with one, and ends when its input ends.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

export const [folder, url, settings, consumersText] = process.argv.slice(2)
export const consumers = Number(consumersText)

/** A package of that folder. */
export async function load(name) {
  const home = join(folder, 'node_modules', name)
  const { exports: entries, main = 'index.js' } = JSON.parse(
    readFileSync(join(home, 'package.json'), 'utf8'),
  )
  let entry = entries?.['.'] ?? entries ?? main
  while (typeof entry === 'object') entry = entry.import ?? entry.node ?? entry.default
  return import(pathToFileURL(join(home, entry)).href)
}

const KEYS = 64

let onMessage = () => {}
/** The highest number of each key, and how often a smaller one came after it. */
const latest = new Map()
let disorder = 0

/** When the commit of each message was sent; only at a fixed rate. */
let commits

/** A handler has begun with a message. */
function seen({ key, n }) {
  if (n <= (latest.get(key) ?? -1)) disorder++
  latest.set(key, n)
  onMessage(commits === undefined ? 0 : performance.now() - commits.get(`${key} ${n}`))
}

/**
 * `begin(seen)` begins to deliver, and resolves to what enqueues a list of `{ key, n }` in a
 * transaction of a connection of `pg`. `check()` throws if the order was not kept.
 */
export async function serve(begin, check = () => {}) {
  const { default: pg } = await load('pg')
  const connect = async () => {
    const tx = new pg.Client({ connectionString: url })
    await tx.connect()
    return tx
  }
  const setUp = await connect()
  await setUp.query('create table if not exists orders (id bigserial primary key, item text)')
  await setUp.end()
  const enqueue = await begin(seen)
  const counts = new Map()

  const transaction = async (tx, producer, size) => {
    const first = counts.get(producer) ?? 0
    counts.set(producer, first + size)
    const items = Array.from({ length: size }, (_, i) => ({
      key: `p${producer}k${(first + i) % KEYS}`,
      n: first + i,
    }))
    await tx.query('begin')
    await tx.query(`insert into orders (item) values ('chair')`)
    await enqueue(tx, items)
    for (const { key, n } of commits === undefined ? [] : items) {
      commits.set(`${key} ${n}`, performance.now())
    }
    await tx.query('commit')
  }

  const onConnections = async (count, work) => {
    const connections = await Promise.all(Array.from({ length: count }, connect))
    try {
      // Plans, caches and connections are warm then.
      let warm = 0
      onMessage = () => warm++
      await Promise.all(connections.map((tx, producer) => transaction(tx, producer, 1)))
      for (let tries = 0; tries < 200 && warm < count; tries++) await sleep(5)
      await work(connections)
    } finally {
      await Promise.all(connections.map((tx) => tx.end()))
    }
  }

  const tasks = {
    /** As many as possible. */
    async load({ producers, perTransaction, ms, drainMs }) {
      let enqueued = 0
      let handled = 0
      let lastMs = 0
      disorder = 0
      let startMs = 0
      let enqueuedMs = 0
      await onConnections(producers, async (connections) => {
        onMessage = () => {
          handled++
          lastMs = performance.now()
        }
        startMs = performance.now()
        const produce = async (tx, producer) => {
          do {
            await transaction(tx, producer, perTransaction)
            enqueued += perTransaction
          } while (performance.now() - startMs < ms)
        }
        await Promise.all(connections.map(produce))
        enqueuedMs = performance.now() - startMs
      })
      const untilMs = performance.now() + drainMs
      while (handled < enqueued && performance.now() < untilMs) await sleep(5)
      const isDrained = handled >= enqueued
      const seconds = ((isDrained ? lastMs : performance.now()) - startMs) / 1_000
      check()
      return { enqueued, handled, seconds, enqueuedSeconds: enqueuedMs / 1_000, disorder }
    },

    /** At a fixed rate: the times from sending the commit to the handler. */
    async paced({ producers, everyMs, ms, drainMs }) {
      commits = new Map()
      const took = []
      let sent = 0
      await onConnections(producers, async (connections) => {
        onMessage = (forMs) => took.push(forMs)
        const startMs = performance.now()
        const produce = async (tx, producer) => {
          await sleep((producer * everyMs) / producers)
          for (let next = performance.now(); performance.now() - startMs < ms; next += everyMs) {
            await sleep(Math.max(0, next - performance.now()))
            sent++
            await transaction(tx, producer, 1)
          }
        }
        await Promise.all(connections.map(produce))
      })
      const untilMs = performance.now() + drainMs
      while (took.length < sent && performance.now() < untilMs) await sleep(5)
      return { took, sent }
    },
  }

  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const { task, ...plan } = JSON.parse(line)
    console.log(JSON.stringify(await tasks[task](plan)))
  }
  process.exit(0)
}
