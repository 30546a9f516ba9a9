// Runs the benchmarks named on the command line, or all: `npm run bench -- workers`.
// `--smoke` runs each for a moment, to see that it still works; its figures mean nothing.

import { benchCodec } from './codec.ts'
import { benchEngine, type EngineOptions } from './engine.ts'
import { benchLimit } from './limit.ts'
import { benchNotify } from './notify.ts'
import { benchOutbox } from './outbox.ts'
import { benchPeers } from './peers.ts'
import { type BenchServer, benchServer } from './postgres.ts'
import { benchProfile } from './profile.ts'
import { benchQueue } from './queue.ts'
import { printTable, type Row } from './table.ts'
import { benchTasks } from './tasks.ts'
import { benchTelemetry } from './telemetry.ts'
import { benchTransactions } from './transactions.ts'
import { benchWorkers } from './workers.ts'
import { benchWorkflows } from './workflows.ts'

const BENCHES: Record<string, (options: EngineOptions) => Promise<Row[]>> = {
  workers: benchWorkers,
  codec: benchCodec,
  engine: benchEngine,
  workflows: benchWorkflows,
  tasks: benchTasks,
  limit: benchLimit,
  transactions: benchTransactions,
  telemetry: benchTelemetry,
  notify: benchNotify,
  outbox: benchOutbox,
  peers: benchPeers,
  queue: benchQueue,
  profile: benchProfile,
}

// Something hangs, then.
const LONGEST_MS = 30 * 60_000

const given = process.argv.slice(2)
const smoke = given.includes('--smoke')
const names = given.filter((argument) => argument !== '--smoke')
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name))

if (unknown.length > 0) {
  const known = Object.keys(BENCHES).join(', ')
  console.error(`bench: there is no "${unknown.join('", "')}"; there are ${known} and --smoke`)
  process.exitCode = 1
} else {
  console.log(
    `Node ${process.version}, ${process.platform} ${process.arch}${smoke ? ', smoke' : ''}`,
  )
  await runAll(names.length === 0 ? Object.keys(BENCHES) : names)
}

async function runAll(wanted: readonly string[]): Promise<void> {
  let started: Promise<BenchServer> | undefined
  const server = (): Promise<BenchServer> => (started ??= benchServer())
  const stopServer = async (): Promise<void> => (await started)?.[Symbol.asyncDispose]()
  const giveUp = (reason: string): void => {
    console.error(`bench: ended by ${reason}`)
    void stopServer().finally(() => process.exit(1))
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, giveUp)
  const limit = setTimeout(giveUp, LONGEST_MS, 'its time limit')
  try {
    for (const [name, bench] of Object.entries(BENCHES)) {
      if (wanted.includes(name)) printTable(name, await bench({ smoke, server }))
    }
  } finally {
    await stopServer()
    clearTimeout(limit)
  }
}
