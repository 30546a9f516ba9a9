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
const SCRIPT = join(import.meta.dirname, 'peers/dbos.mjs')
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
      const { result, before, after, fsyncs } = await measure(server, folder, shape, {
        ...plan,
        samples: 0,
      })
      const steps = result.workflows * shape.steps
      const allSteps = steps + result.warmUp * shape.steps
      return {
        workflowsPerSecond: result.workflows / result.seconds,
        stepsPerSecond: steps / result.seconds,
        cpu: result.cpu,
        loop: undefined,
        perStep: perStep(before, after, steps, fsyncs, allSteps),
      }
    },
    async latency(server, shape, plan) {
      const { result } = await measure(server, folder, shape, { ...plan, inFlight: 10 })
      return result.latencies
    },
  }
}

interface Result {
  readonly workflows: number
  readonly seconds: number
  readonly cpu: number
  readonly latencies: number[]
  readonly warmUp: number
}

async function measure(server: BenchServer, folder: string, shape: Shape, plan: Plan) {
  const url = await server.freshDatabase(DATABASE)
  const fsyncsBefore = await server.fsyncs()
  const child = spawn(
    process.execPath,
    ['--no-deprecation', SCRIPT, folder, url, shape.name, JSON.stringify(plan)],
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
