// Fills a store with what a shop does in a day, good and bad, and serves a dashboard of it.
//
//   npm run build && npx tsx test/dashboard/seed.ts [store URL] [--events 20000]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, type Runtime, type Store, type Transaction } from 'holdfast'
import { dashboard, type DashboardAddress } from 'holdfast/dashboard'
import { outbox, topic } from 'holdfast/outbox'
import { openQueue } from 'holdfast/queue'
import { openDatabase } from 'holdfast/sqlite'

import { importCatalog, order, report, SHOP } from './shop.ts'

const QUIET = { debug() {}, info() {}, warn() {}, error() {} }
export const TOKEN = 'correct-horse-battery-staple'

/** Where a shop is. */
export interface Place {
  readonly store: Store | string
  /** Runs something in a transaction of the database of that store. */
  readonly transaction: (run: (tx: Transaction) => Promise<unknown>) => Promise<void>
}

export interface Shop extends AsyncDisposable {
  readonly runtime: Runtime
  readonly address: DashboardAddress
}

/** Opens the shop and lets it work until it has something of everything. */
export async function openShop(
  place: Place,
  options: { readonly only?: 'empty' } = {},
): Promise<Shop> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-shop-'))
  const runtime = await open(place.store, { register: SHOP, log: QUIET, tags: ['printer'] })
  const events = outbox(runtime)
  const queue = await openQueue<{ to: string }>(join(folder, 'mail.db'), {
    name: 'mail',
    maxAttempts: 1,
  })
  const shown = dashboard(runtime, { token: TOKEN, outbox: events, queues: { mail: queue } })
  if (options.only === undefined) {
    await fillOrders(runtime)
    await fillSchedules(runtime)
    await fillOutbox(events, place)
    await fillQueue(queue)
  }
  const address = await shown.listen({ port: 0 })
  return {
    runtime,
    address,
    async [Symbol.asyncDispose]() {
      await shown[Symbol.asyncDispose]()
      await events.stop()
      await queue.close()
      await runtime.close({ drain: 0 })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const NAMES = ['ada', 'ben', 'cyd', 'dot', 'eve', 'fin', 'gil', 'hal']
const TROUBLES = [undefined, 'flaky', undefined, 'declined', undefined] as const

async function fillOrders(runtime: Runtime): Promise<void> {
  const one = (
    id: string,
    n: number,
    trouble?: 'stuck' | 'approval' | 'hang' | 'flaky' | 'declined',
  ) =>
    runtime.start(
      order,
      {
        customer: `${NAMES[n % NAMES.length]}@example.com`,
        total: 20 + n * 3.5,
        items: Array.from({ length: 1 + (n % 4) }, (_, i) => ({
          sku: `sku-${n + i}`,
          count: i + 1,
        })),
        ...(trouble && { trouble }),
      },
      {
        id,
        labels: { tenant: n % 3 === 0 ? 'acme' : 'globex', region: n % 2 === 0 ? 'eu' : 'us' },
      },
    )
  const ending = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      one(`order-${1000 + n}`, n, TROUBLES[n % TROUBLES.length]),
    ),
  )
  await Promise.allSettled(ending.map((instance) => instance.result({ timeout: '60s' })))
  for (const [i, trouble] of (
    ['stuck', 'approval', 'hang', 'approval', 'stuck'] as const
  ).entries()) {
    await one(`order-${2000 + i}`, i, trouble)
  }
  const paused = await one('order-3000', 3, 'approval')
  await paused.suspend('the customer called')
  const stopped = await one('order-3001', 4, 'approval')
  await stopped.terminate('a test order')
  await runtime.start(
    order,
    { customer: 'x', total: 1, items: [] },
    { id: 'order-4000', delay: '2h' },
  )
  await runtime.start(
    order,
    { customer: 'x', total: 1, items: [] },
    { id: 'order-4001', version: '4.0.0' },
  )
}

async function fillSchedules(runtime: Runtime): Promise<void> {
  await runtime.schedule(
    'nightly-report',
    { cron: '0 3 * * *', timezone: 'Europe/Berlin' },
    report,
    'Monday',
  )
  await runtime.schedule('heartbeat', { every: '30s' }, report, 'Sunday')
  await runtime.schedule('month-end', { cron: '0 6 1 * *' }, report, 'the month')
  await runtime.schedules.pause('month-end')
  for (const name of ['nightly-report', 'heartbeat', 'heartbeat', 'heartbeat', 'nightly-report']) {
    const { id } = await runtime.schedules.trigger(name)
    await runtime
      .get(report, id)
      .result({ timeout: '10s' })
      .catch(() => {})
  }
}

async function fillOutbox(events: ReturnType<typeof outbox>, place: Place): Promise<void> {
  const invoices = topic<{ order: string; to: string }>('invoices', { partitions: 4 })
  const newsletters = topic<{ to: string }>('newsletters', { partitions: 2 })
  events.handle(invoices, async ({ payload }, ctx) => {
    if (payload.to.startsWith('eve')) ctx.reject(`mailbox of ${payload.to} is full`)
  })
  await events.start()
  await place.transaction(async (tx) => {
    await events.in(tx).enqueueMany(
      invoices,
      Array.from({ length: 24 }, (_, i) => ({
        payload: { order: `order-${1000 + i}`, to: `${NAMES[i % NAMES.length]}@example.com` },
        key: NAMES[i % NAMES.length]!,
      })),
    )
    // No handler of this process takes them, so they wait.
    await events.in(tx).enqueueMany(
      newsletters,
      Array.from({ length: 9 }, (_, i) => ({ payload: { to: NAMES[i % NAMES.length]! } })),
    )
  })
  while ((await events.deadLetters.count()) < 3)
    await new Promise((resolve) => setTimeout(resolve, 20))
}

async function fillQueue(
  queue: Awaited<ReturnType<typeof openQueue<{ to: string }>>>,
): Promise<void> {
  await queue.pushMany(NAMES.map((to) => ({ to: `${to}@example.com` })))
  const first = await queue.takeMany(2)
  for (const delivery of first) await delivery.nack({ reason: 'smtp: 550 no such user' })
  await queue.push({ to: 'later@example.com' }, { delay: '1h' })
}

/** A shop in a file of its own. */
export function sqlitePlace(path: string): Place {
  return {
    store: `file:${path}`,
    async transaction(run) {
      const database = openDatabase({ path })
      try {
        database.exec('begin immediate')
        await run(database)
        database.exec('commit')
      } finally {
        database.close()
      }
    },
  }
}

/** An instance with a history of so many events. */
export async function importMany(runtime: Runtime, events: number): Promise<string> {
  const instance = await runtime.start(importCatalog, Math.floor((events - 2) / 2), {
    id: `catalog-${events}`,
  })
  await instance.result({ timeout: '10m' })
  return instance.id
}

if (process.argv[1] === import.meta.filename) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-shop-'))
  const shop = await openShop(sqlitePlace(join(folder, 'shop.db')))
  const at = process.argv.indexOf('--events')
  if (at !== -1) await importMany(shop.runtime, Number(process.argv[at + 1]))
  process.stdout.write(`${shop.address.urlWithToken}\n`)
  process.on('SIGINT', () => {
    void shop[Symbol.asyncDispose]().then(() => {
      rmSync(folder, { recursive: true, force: true })
      process.exit()
    })
  })
}
