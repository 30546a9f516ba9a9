// oxlint-disable no-console -- a program that prints
//
// What a runtime costs the server while nothing happens, and what waking one instance costs, in CPU time
// of the server: with few unfinished instances, with a million, and with unread messages beside them.
//
//   npx tsx bench/idle-cost.ts
//
// Uses the PostgreSQL of the distribution where there is one, since that compiles queries (JIT).
// Linux only: the CPU time is the one that /proc shows.

import { readFileSync } from 'node:fs'
import { Pool } from 'pg'

import { postgresWorkflowStore } from '../src/postgres/workflow-store.ts'
import type { PgPool } from '../src/postgres/connect/driver.ts'
import { startPostgres } from '../test/support/postgres-server.ts'
import { stockBinaries } from '../test/support/stock.ts'
import { median } from './figures.ts'

const SCHEMA = 'idle_cost'
const FAR = 9e14
const CALLS = 300

const server = await startPostgres(['autovacuum=off'], undefined, stockBinaries())
const pool = new Pool({ connectionString: server.url, max: 1 })
const store = postgresWorkflowStore({ source: { pool: pool as unknown as PgPool }, schema: SCHEMA })
await store.open()
const workflows = [{ name: 'order', version: '1' }]
const registered = await store.register({ leaseMs: 3_600_000, info: '', workflows })
const [order] = registered.workflows
const { rows } = await pool.query<{ pid: number; about: string }>(
  `select pg_backend_pid() as pid, version() || ', jit ' || current_setting('jit') as about`,
)
const { pid, about } = rows[0]!
console.log(about)
console.log('CPU time of the server in microseconds, median of', CALLS, 'calls')

let instances = 0
/** The instance that was woken last. */
let iid = 0
await measure('40 unfinished instances', 40, 0)
await measure('a million', 1_000_000, 0)
await measure('a million, and 100,000 messages to ids that never start', 1_000_000, 100_000)
await store.close()
await pool.end()
await server.remove()

/** Adds what is missing, and prints what calls cost then. */
async function measure(title: string, count: number, messages: number): Promise<void> {
  await fill(count)
  for (let sent = 0; sent < messages; sent += 1_000) await sendInVain(sent)
  await pool.query('vacuum analyze')
  const tick = {
    runtime: registered.runtime,
    workflows: [order!],
    tasks: null,
    unknown: [],
    ownedTasks: [],
  }
  const idle = await perCall(async () => {
    await store.renewLease(registered.runtime, 3_600_000)
    await store.tick({ ...tick, idle: true })
  })
  const claimed: number[] = []
  const wake = await perCall(
    async () => {
      const { runtime } = registered
      const given = { runtime, workflows: [order!], limit: 64, hinted: [iid] }
      claimed.push((await store.claim(given)).claims.length)
    },
    async () => {
      await pool.query(
        `delete from ${SCHEMA}.inbox where iid = ${iid};
        update ${SCHEMA}.runs set owner = null, wake_at = ${FAR} where iid = ${iid}`,
      )
      iid = (iid % 40) + 1
      await pool.query(
        `insert into ${SCHEMA}.inbox (iid, kind, name, payload) values (${iid}, 3, 'notes', '1')`,
      )
    },
  )
  if (claimed.some((one) => one !== 1)) throw new Error('a wake-up claims one instance')
  console.log(`${title}: tick and renewal ${idle}, claim of a wake-up ${wake}`)
}

/** Instances that sleep forever. */
async function fill(count: number): Promise<void> {
  const from = instances + 1
  if (count < from) return
  await pool.query(
    `insert into ${SCHEMA}.instances (iid, id, workflow, execution, status, created_at, updated_at)
    select i, 'i-' || i, ${order}, 1, 1, 0, 0 from generate_series(${from}, ${count}) as i;
    insert into ${SCHEMA}.runs (iid, workflow, epoch, wake_at)
    select i, ${order}, 1, ${FAR} from generate_series(${from}, ${count}) as i;
    insert into ${SCHEMA}.history (iid, execution, turn, epoch, at, first, count, events)
    select i, 1, 1, 1, 0, 1, 1, 'x' from generate_series(${from}, ${count}) as i`,
  )
  instances = count
}

async function sendInVain(from: number): Promise<void> {
  const first = 10_000_000 + from
  await store.post(
    Array.from({ length: 1_000 }, (_, i) => ({
      id: `never-${from + i}`,
      kind: 'message' as const,
      name: 'notes',
      payload: '1',
      replyTo: '',
      dedupeKey: '',
      capacity: null,
      iid: first + i,
    })),
  )
}

/** The median of what a call costs the connection that all go through, without what prepares it. */
async function perCall(
  call: () => Promise<unknown>,
  prepare: () => Promise<unknown> = async () => {},
): Promise<number> {
  const costs: number[] = []
  for (let i = -20; i < CALLS; i++) {
    await prepare()
    const before = cpuNs()
    await call()
    if (i >= 0) costs.push(cpuNs() - before)
  }
  return Math.round(median(costs) / 1_000)
}

function cpuNs(): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])
}
