// Queues of DBOS, measured in processes of their own, beside what Holdfast has for the same purpose.

import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { installDbos } from './dbos.ts'
import { LineProcess } from './line-process.ts'
import type { Measured, Plan } from './peer.ts'
import { type BenchServer, perStep } from './postgres.ts'

const DATABASE = 'bench_dbos'
// Where `installDbos` puts it.
const FOLDER = join(tmpdir(), 'holdfast-bench-dbos')
const SCRIPTS = join(import.meta.dirname, 'peers')
const SERVER = 'server'
// For starting, stopping, and the last workflows.
const SPARE_MS = 120_000

/** A plan, and how often queues and results are looked at. */
export interface PolledPlan extends Plan {
  readonly pollMs: number
}

/** What an installed DBOS has beside tasks and `in(tx)`. */
export interface DbosQueues {
  readonly version: string
  /** Workflows that each wait for one on a queue, which another process runs. A step is one of those. */
  taskLoad(server: BenchServer, plan: PolledPlan): Promise<Measured>
  /** How long one of them takes when nothing else runs, in milliseconds. */
  taskLatency(server: BenchServer, plan: PolledPlan): Promise<number[]>
  /** Transactions per second in which a workflow is put on a queue, with `inFlight` connections. */
  startRate(server: BenchServer, plan: Plan): Promise<number>
}

/** Installs DBOS, unless an earlier run did; a text says why that was not possible. */
export function installDbosQueues(): DbosQueues | string {
  const dbos = installDbos()
  if (typeof dbos === 'string') return dbos
  return {
    version: dbos.version,
    async taskLoad(server, plan) {
      const fsyncsBefore = await server.fsyncs()
      const { result, before, after } = await measureTasks(server, { ...plan, samples: 0 })
      const { done, seconds, cpu, warmUp } = result
      const fsyncs = (await server.fsyncs()) - fsyncsBefore
      return {
        workflowsPerSecond: done / seconds,
        stepsPerSecond: done / seconds,
        cpu,
        loop: undefined,
        perStep: perStep(before, after, done, fsyncs, done + warmUp),
      }
    },
    async taskLatency(server, plan) {
      const { result } = await measureTasks(server, { ...plan, inFlight: 10 })
      return result.latencies
    },
    async startRate(server, plan) {
      const url = await server.freshDatabase(DATABASE)
      const program = script('dbos-transactions.mjs', url, 'TX', { ...plan, samples: 0 })
      const { result } = await measure(server, program)
      const [row] = await server.query<{ started: number; orders: number }>(
        DATABASE,
        `select (select count(*) from dbos.workflow_status where status = 'ENQUEUED')::int as started,
          (select count(*) from orders)::int as orders`,
      )
      const all = result.done + result.warmUp
      check('TX', all, row!.started)
      check('TX, orders', all, row!.orders)
      return result.done / result.seconds
    },
  }
}

interface Result {
  readonly done: number
  readonly seconds: number
  readonly cpu: number
  readonly latencies: number[]
  readonly warmUp: number
}

/** One process starts workflows and runs them; another runs what those leave to a queue. */
async function measureTasks(server: BenchServer, plan: PolledPlan) {
  const url = await server.freshDatabase(DATABASE)
  await using other = new LineProcess(script('dbos-tasks.mjs', url, 'SERVE', plan, SERVER))
  await other.until('ready')
  const measured = await measure(server, script('dbos-tasks.mjs', url, 'TASK', plan))
  await other.end()
  const [row] = await server.query<{ owners: number; tasks: number }>(
    DATABASE,
    `select count(*) filter (where name = 'owner' and executor_id <> '${SERVER}')::int as owners,
      count(*) filter (where name = 'task' and executor_id = '${SERVER}')::int as tasks
    from dbos.workflow_status where status = 'SUCCESS'`,
  )
  const all = measured.result.done + measured.result.warmUp
  check('TASK, workflows', all, row!.owners)
  check('TASK, run by the other process', all, row!.tasks)
  return measured
}

async function measure(server: BenchServer, program: ReturnType<typeof script>) {
  await using measuring = new LineProcess(program)
  await measuring.until('ready')
  const before = await server.counters(DATABASE)
  const result = JSON.parse(await measuring.ask('go')) as Result
  const after = await server.counters(DATABASE)
  await measuring.end()
  return { result, before, after }
}

function script(
  name: string,
  url: string,
  what: string,
  plan: Plan & { readonly pollMs?: number },
  executor = 'owner',
) {
  const eachMs = 100 + 3 * (plan.pollMs ?? 0)
  return {
    script: join(SCRIPTS, name),
    args: [FOLDER, url, what, JSON.stringify(plan)],
    env: { DBOS__VMID: executor },
    longestMs: plan.ms + plan.warmUpMs + plan.samples * eachMs + SPARE_MS,
  }
}

/** Figures of work that was not done mean nothing. */
function check(what: string, expected: number, recorded: number): void {
  if (recorded === expected) return
  throw new Error(`DBOS, ${what}: ${expected} were run, but ${recorded} are recorded`)
}
