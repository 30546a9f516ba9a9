// DBOS, measured in a process of its own. It is installed into a folder of its own when a benchmark
// wants it, since Holdfast itself has no use for it.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import type { Measured, Plan } from './peer.ts'
import { type BenchServer, perStep } from './postgres.ts'
import type { Shape } from './shapes.ts'

const DATABASE = 'bench_dbos'
const PACKAGE = '@dbos-inc/dbos-sdk'
const WANTED = `${PACKAGE}@^5.3.0`
const SCRIPTS = join(import.meta.dirname, 'peers')
const INSTALL_MS = 120_000
// For starting, stopping, and the last workflows.
const SPARE_MS = 120_000

/** An installed DBOS. */
export interface Dbos {
  readonly version: string
  /** One shape under full load. */
  load(server: BenchServer, shape: Shape, plan: Plan): Promise<Measured>
  /** How long one workflow takes when nothing else runs, in milliseconds. */
  latency(server: BenchServer, shape: Shape, plan: Plan): Promise<number[]>
  /** Messages per second: `inFlight` senders, each to a workflow of its own. */
  messageRate(server: BenchServer, plan: Plan): Promise<number>
  /** Milliseconds from sending until the receiver has its first effect, one at a time. */
  messageLatency(server: BenchServer, plan: Plan): Promise<number[]>
}

/** Installs DBOS, unless an earlier run did; a text says why that was not possible. */
export function installDbos(): Dbos | string {
  const folder = join(tmpdir(), 'holdfast-bench-dbos')
  const manifest = join(folder, 'node_modules', PACKAGE, 'package.json')
  if (!existsSync(manifest)) {
    mkdirSync(folder, { recursive: true })
    const { status, stderr, error } = spawnSync(
      process.platform === 'win32' ? 'npm.cmd' : 'npm',
      ['install', '--prefix', folder, '--no-audit', '--no-fund', WANTED],
      { cwd: folder, encoding: 'utf8', timeout: INSTALL_MS },
    )
    if (status !== 0) return `npm install ${WANTED} failed: ${error?.message ?? stderr.trim()}`
  }
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return {
    version,
    async load(server, shape, plan) {
      const measured = await measureShape(server, folder, shape, { ...plan, samples: 0 })
      const { result, before, after, fsyncs } = measured
      const steps = result.done * shape.steps
      const allSteps = steps + result.warmUp * shape.steps
      return {
        workflowsPerSecond: result.done / result.seconds,
        stepsPerSecond: steps / result.seconds,
        cpu: result.cpu,
        loop: undefined,
        perStep: perStep(before, after, steps, fsyncs, allSteps),
      }
    },
    async latency(server, shape, plan) {
      const { result } = await measureShape(server, folder, shape, { ...plan, inFlight: 10 })
      return result.latencies
    },
    async messageRate(server, plan) {
      const { result } = await measure(server, folder, MESSAGES, { ...plan, samples: 0 })
      await checkRecorded(server, MESSAGES.name, {
        workflows: 2 * plan.inFlight,
        messages: result.done + result.warmUp,
      })
      return result.done / result.seconds
    },
    async messageLatency(server, plan) {
      const { result } = await measure(server, folder, MESSAGES, plan)
      // One more message ends it.
      const messages = result.done + result.warmUp + 1
      await checkRecorded(server, MESSAGES.name, { workflows: 1, messages })
      return result.latencies
    },
  }
}

/** A script in `peers`, and what it is to run. */
interface Task {
  readonly script: string
  readonly name: string
}

const MESSAGES: Task = { script: 'dbos-messages.mjs', name: 'CHANNEL' }

async function measureShape(server: BenchServer, folder: string, shape: Shape, plan: Plan) {
  const task: Task = { script: 'dbos-workflows.mjs', name: shape.name }
  const measured = await measure(server, folder, task, plan)
  const { done, warmUp } = measured.result
  await checkRecorded(server, task.name, {
    workflows: (done + warmUp) * shape.leaves.instances,
    messages: 0,
  })
  return measured
}

interface Result {
  /** Workflows, or messages. */
  readonly done: number
  readonly seconds: number
  readonly cpu: number
  readonly latencies: number[]
  readonly warmUp: number
}

async function measure(server: BenchServer, folder: string, task: Task, plan: Plan) {
  const url = await server.freshDatabase(DATABASE)
  const fsyncsBefore = await server.fsyncs()
  const child = spawn(
    process.execPath,
    ['--no-deprecation', join(SCRIPTS, task.script), folder, url, task.name, JSON.stringify(plan)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      timeout: plan.ms + plan.warmUpMs + plan.samples * 100 + SPARE_MS,
    },
  )
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async (): Promise<string> => {
    const next = await lines.next()
    if (next.done === true) throw new Error(`dbos ended with ${await ended}`)
    return next.value
  }
  try {
    while ((await line()) !== 'ready');
    const before = await server.counters(DATABASE)
    child.stdin.write('go\n')
    const result = JSON.parse(await line()) as Result
    const after = await server.counters(DATABASE)
    child.stdin.end()
    await ended
    return { result, before, after, fsyncs: (await server.fsyncs()) - fsyncsBefore }
  } finally {
    if (child.exitCode === null) child.kill()
  }
}

/** Figures of work that was not done mean nothing. */
async function checkRecorded(
  server: BenchServer,
  what: string,
  expected: { readonly workflows: number; readonly messages: number },
): Promise<void> {
  const [row] = await server.query<{ workflows: string; messages: string }>(
    DATABASE,
    `select
      (select count(*) from dbos.workflow_status where status = 'SUCCESS') as workflows,
      (select count(*) from dbos.notifications where consumed) as messages`,
  )
  const { workflows, messages } = row!
  if (Number(workflows) === expected.workflows && Number(messages) === expected.messages) return
  throw new Error(
    `DBOS, ${what}: ${expected.workflows} workflows and ${expected.messages} messages were run, ` +
      `but ${workflows} and ${messages} are recorded`,
  )
}
