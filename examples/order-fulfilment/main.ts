// A dozen orders on one SQLite file. Kill it whenever you like and run it again: it carries on.

import { randomUUID } from 'node:crypto'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Log, open } from 'holdfast'
import { dashboard } from 'holdfast/dashboard'
import { makeActivities, ORDERS } from './domain.ts'
import { openLedger } from './ledger.ts'
import { showProgress } from './progress.ts'
import { summarise } from './summary.ts'
import { makeFulfilment } from './workflow.ts'

const folder = process.argv[2] ?? fileURLToPath(new URL('../../.holdfast', import.meta.url))
mkdirSync(folder, { recursive: true })
const database = join(folder, 'orders.db')
const books = join(folder, 'orders.jsonl')

const ledger = openLedger(books)
const starts = ledger.entries.filter(({ what }) => what === 'program started').length + 1
console.log(
  `${ORDERS.length} orders, each: reserve, charge, pack, wait for the courier, ship, mail.`,
)
console.log(`Stop it half-way with Ctrl-C or, from another terminal, kill -9 ${process.pid}.`)
console.log('The same command carries on where it was.\n')
if (starts > 1) console.log(`Start number ${starts}: carrying on.\n`)
ledger.write({ what: 'program started', pid: process.pid })

const progress = showProgress(process.stdout, ORDERS, ledger.entries, process.env)
ledger.onEntry((entry) => progress.saw(entry))
const warn: Log = (data, message) => progress.say(`  ! ${message} ${JSON.stringify(data)}`)

const fulfil = makeFulfilment(makeActivities(ledger))
const holdfast = await open(`file:${database}`, {
  register: fulfil,
  // Few, so that there is something to watch.
  concurrency: { activities: 4 },
  log: { debug() {}, info() {}, warn, error: warn },
})
// It ends when the runtime is closed.
const shown = await dashboard(holdfast, { token: randomUUID() }).listen()
progress.say(`Watch it in a browser while it runs: ${shown.urlWithToken}\n`)

const stopped = new Promise<undefined>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(undefined))
})
const all = Promise.all(
  ORDERS.map(async (order) => {
    // An order that an earlier start took in is found by its id, not taken in again.
    const outcome = await holdfast.run(fulfil, order, { id: order.id })
    progress.ended(order, outcome)
    return outcome
  }),
)
const outcomes = await Promise.race([all, stopped])

if (outcomes === undefined) {
  progress.say('  stopping: what runs may finish, the rest waits for the next start')
  await holdfast.close({ drain: '3s' })
  console.log('\nStopped. Run the same command again: it carries on.')
  process.exitCode = 130
} else {
  await holdfast.close()
  const summary = summarise(outcomes, ledger.entries)
  console.log(`\n${summary.lines.map((line) => `  ${line}`).join('\n')}`)
  process.exitCode = summary.good ? 0 : 1
  // All is done: the next run starts afresh.
  for (const file of [database, `${database}-wal`, `${database}-shm`, books]) {
    rmSync(file, { force: true })
  }
}
